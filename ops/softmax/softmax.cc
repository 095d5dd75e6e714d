// Softmax along one axis: y = exp(x - max) / sum exp(x - max). Normal form: that of opset 13, `axis` non-negative.
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"
#include "ops/softmax/along_axis.h"

namespace onward {
namespace {

const OpId kSoftmaxGrad{kOnwardDomain, "SoftmaxGrad"};

void gradient(GradientContext& context) {
  context.set_dx(0, context.emit(kSoftmaxGrad, {context.dy(0), context.y(0)}, context.attributes()));
}

}  // namespace

void register_softmax(Registry& registry) {
  registry.add(OpDef{.id = {"", "Softmax"},
                     .versions = {1, 11, 13},
                     .summary = "exponentials that sum to 1 along an axis",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer_along_axis,
                     .gradient = gradient,
                     .normalise = normalise_along_axis,
                     .distribute = distribute_along_axis,
                     .samples = samples_along_axis,
                     .in_place = {{0, 0}},
                     .precision = PrecisionClass::kAccurate});
  // dx = y * (dy - sum(dy * y)) along the axis.
  registry.add(OpDef{.id = kSoftmaxGrad,
                     .summary = "gradient of Softmax from dy and y",
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .infer = infer_along_axis,
                     .distribute = distribute_grad_along_axis,
                     .samples = grad_samples_along_axis,
                     .in_place = {{0, 0}},
                     .precision = PrecisionClass::kAccurate});
}

}  // namespace onward
