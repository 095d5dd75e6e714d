// Identity: y = x, any type.
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void infer(InferContext& context) { context.set(0, context.dtype(0), context.shape(0)); }

void gradient(GradientContext& context) { context.set_dx(0, context.dy(0)); }

void distribute(DistributionContext& context) { context.set_all(context.input(0)); }

std::vector<SampleCase> samples() {
  return {{.name = "image", .inputs = {SampleInput{.shape = {2, 3, 4, 5}}}, .gradients = {0}},
          {.name = "scalar", .inputs = {SampleInput{.shape = {}}}, .gradients = {0}},
          {.name = "labels", .inputs = {SampleInput{.shape = {7}, .low = 0, .high = 9, .dtype = DType::kInt64}}}};
}

}  // namespace

void register_identity(Registry& registry) {
  registry.add(OpDef{.id = {"", "Identity"},
                     .versions = {1, 13, 14, 16, 19, 21, 23, 24, 25},
                     .summary = "x itself",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .distribute = distribute,
                     .samples = samples,
                     .in_place = {{0, 0}}});
}

}  // namespace onward
