// CountOnce: a value that is the same on every replica, as a term of a sum over replicas. The first replica contributes
// it, the others contribute zeros, so that the sum is the value itself, to the bit, for any number of replicas.
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void infer(InferContext& context) { context.set(0, context.dtype(0), context.shape(0)); }

// The sum over replicas of what leaves is what entered: its derivative is one, on every replica.
void gradient(GradientContext& context) { context.set_dx(0, context.dy(0)); }

void distribute(DistributionContext& context) {
  const Distribution input = context.input(0);
  if (input != Distribution::kReplicated) {
    context.fail("expects a value that is the same on every replica, found one that is " + distribution_name(input));
  }
  context.set(0, Distribution::kPartial);
}

std::vector<SampleCase> samples() {
  return {{.name = "vector", .inputs = {SampleInput{.shape = {5}}}, .gradients = {0}},
          {.name = "scalar", .inputs = {SampleInput{.shape = {}}}, .gradients = {0}}};
}

}  // namespace

void register_count_once(Registry& registry) {
  registry.add(OpDef{.id = {kOnwardDomain, "CountOnce"},
                     .summary = "x on the first replica, zeros on the others",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .distribute = distribute,
                     .samples = samples,
                     .in_place = {{0, 0}},
                     .constant_folds = false});
}

}  // namespace onward
