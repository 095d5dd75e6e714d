// Relu: y = max(x, 0). The gradient reads y, not x, so that x may be overwritten in place.
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

const OpId kReluGrad{kOnwardDomain, "ReluGrad"};

void infer(InferContext& context) { context.set(0, context.dtype(0), context.shape(0)); }

// Linear in dy.
void distribute_grad(DistributionContext& context) { context.pointwise(true); }

void gradient(GradientContext& context) { context.set_dx(0, context.emit(kReluGrad, {context.dy(0), context.y(0)})); }

std::vector<SampleCase> samples() {
  return {{.name = "image", .inputs = {SampleInput{.shape = {2, 3, 4, 5}}}, .gradients = {0}},
          {.name = "scalar", .inputs = {SampleInput{.shape = {}}}, .gradients = {0}}};
}

std::vector<SampleCase> grad_samples() {
  return {{.name = "image", .inputs = {SampleInput{.shape = {2, 3, 4, 5}}, SampleInput{.shape = {2, 3, 4, 5}}}}};
}

}  // namespace

void register_relu(Registry& registry) {
  registry.add(OpDef{.id = {"", "Relu"},
                     .versions = {1, 6, 13, 14},
                     .summary = "max(x, 0)",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .samples = samples,
                     .in_place = {{0, 0}}});
  // dx = dy where y > 0, else 0.
  registry.add(OpDef{.id = kReluGrad,
                     .summary = "gradient of Relu from dy and y",
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .infer = infer,
                     .distribute = distribute_grad,
                     .samples = grad_samples,
                     .in_place = {{0, 0}}});
}

}  // namespace onward
