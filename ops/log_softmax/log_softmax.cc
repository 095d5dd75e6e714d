// LogSoftmax along one axis: y = (x - max) - log sum exp(x - max). Normal form: that of opset 13, `axis` non-negative.
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"
#include "ops/softmax/along_axis.h"

namespace onward {
namespace {

const OpId kLogSoftmaxGrad{kOnwardDomain, "LogSoftmaxGrad"};

void gradient(GradientContext& context) {
  context.set_dx(0, context.emit(kLogSoftmaxGrad, {context.dy(0), context.y(0)}, context.attributes()));
}

}  // namespace

void register_log_softmax(Registry& registry) {
  registry.add(OpDef{.id = {"", "LogSoftmax"},
                     .versions = {1, 11, 13},
                     .summary = "logarithm of Softmax",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer_along_axis,
                     .gradient = gradient,
                     .normalise = normalise_along_axis,
                     .distribute = distribute_along_axis,
                     .samples = samples_along_axis,
                     .in_place = {{0, 0}},
                     .precision = PrecisionClass::kAccurate});
  // dx = dy - exp(y) * sum(dy) along the axis.
  registry.add(OpDef{.id = kLogSoftmaxGrad,
                     .summary = "gradient of LogSoftmax from dy and y",
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .infer = infer_along_axis,
                     .distribute = distribute_grad_along_axis,
                     .samples = grad_samples_along_axis,
                     .in_place = {{0, 0}},
                     .precision = PrecisionClass::kAccurate});
}

}  // namespace onward
