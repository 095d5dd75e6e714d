// Transpose: output dimension i is input dimension perm[i]; without perm the dimensions are reversed.
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"
#include "ops/transpose/permutation.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  const Shape input = context.shape(0);
  Shape output;
  for (const int64_t i : permutation(context.attributes(), input.size()))
    output.push_back(input[static_cast<std::size_t>(i)]);
  context.set(0, context.dtype(0), output);
}

void gradient(GradientContext& context) {
  const std::vector<int64_t> perm = permutation(context.attributes(), context.x(0)->type.shape().size());
  std::vector<int64_t> inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) inverse[static_cast<std::size_t>(perm[i])] = static_cast<int64_t>(i);
  context.set_dx(0, context.emit("Transpose", {context.dy(0)}, {{"perm", inverse}}));
}

void distribute(DistributionContext& context) {
  const std::vector<int64_t> perm =
      permutation(context.node().attributes, context.node().input(0)->type.shape().size());
  if (context.input(0) == Distribution::kBatchSplit && (perm.empty() || perm[0] != 0)) {
    context.fail("moves the samples of the batch away from dimension 0");
  }
  context.pointwise(true);
}

std::vector<SampleCase> samples() {
  const auto sample = [](const char* name, Shape shape, std::vector<int64_t> perm) {
    SampleCase s{.name = name, .inputs = {SampleInput{shape}}, .gradients = {0}};
    if (!perm.empty()) s.attributes.set("perm", perm);
    return s;
  };
  return {sample("matrix", {3, 4}, {}),
          sample("reversed", {2, 3, 4}, {}),
          sample("swap-last", {2, 3, 4}, {0, 2, 1}),
          sample("to-last", {2, 3, 4, 5}, {0, 2, 3, 1}),
          sample("same", {2, 3}, {0, 1}),
          sample("five", {2, 1, 3, 2, 2}, {4, 0, 3, 1, 2}),
          sample("scalar", {}, {}),
          sample("vector", {5}, {0}),
          sample("large", {70, 90}, {}),
          sample("empty", {0, 3}, {1, 0})};
}

}  // namespace

void register_transpose(Registry& registry) {
  registry.add(OpDef{.id = {"", "Transpose"},
                     .versions = {1, 13, 21, 23, 24, 25},
                     .summary = "permutes dimensions",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .distribute = distribute,
                     .samples = samples});
}

}  // namespace onward
