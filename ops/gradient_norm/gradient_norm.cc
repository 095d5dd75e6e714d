// Clipping of gradients by their common norm, as torch.nn.utils.clip_grad_norm_ does it:
//   onward::GlobalNorm(x1..xn): sqrt of the sum of all squares, float64 scalar
//   onward::ClipByNorm(norm, x1..xn) {limit}: x * min(1, limit / (norm + 1e-6))
#include <fmt/format.h>

#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void require_one_type(const InferContext& context, std::size_t first) {
  for (std::size_t i = first; i < context.input_count(); ++i) {
    context.require(context.dtype(i) == context.dtype(first),
                    "operands of one type, " + dtype_name(context.dtype(first)), dtype_name(context.dtype(i)));
  }
}

void infer_norm(InferContext& context) {
  require_one_type(context, 0);
  context.set(0, DType::kFloat64, {});
}

void infer_clip(InferContext& context) {
  context.require(context.type(0) == TensorType(DType::kFloat64, Shape{}), "a float64 scalar as norm",
                  context.type(0).text());
  context.require(context.output_count() + 1 == context.input_count(), "one output per tensor",
                  fmt::format("{} outputs and {} tensors", context.output_count(), context.input_count() - 1));
  require_one_type(context, 1);
  for (std::size_t i = 1; i < context.input_count(); ++i) context.set(i - 1, context.dtype(i), context.shape(i));
}

// The norm of a sum is not the sum of norms, and every replica must find the same one.
void distribute_norm(DistributionContext& context) {
  for (std::size_t i = 0; i < context.node().inputs().size(); ++i) {
    if (context.input(i) != Distribution::kReplicated) {
      context.fail(fmt::format("takes the norm of '{}', which is {}, not the same on every replica",
                               context.node().input(i)->name(), distribution_name(context.input(i))));
    }
  }
  context.set_all(Distribution::kReplicated);
}

std::vector<InPlacePair> in_place_clip(const Node& node) {
  std::vector<InPlacePair> pairs;
  for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i) pairs.push_back({i, i - 1});
  return pairs;
}

std::vector<SampleCase> norm_samples() {
  const SampleInput vector{.shape = {37}}, scalar{.shape = {}}, image{.shape = {2, 3, 4, 5}}, none{.shape = {0}};
  return {{.name = "several", .inputs = {vector, none, scalar, image}},
          {.name = "long", .inputs = {SampleInput{.shape = {40000}}}}};
}

std::vector<SampleCase> clip_samples() {
  std::vector<SampleCase> cases;
  for (const double limit : {0.5, 5.0}) {
    cases.push_back({.name = limit < 1 ? "clips" : "leaves alone",
                     .inputs = {SampleInput{.shape = {}, .values = {2}, .exact_type = true}, SampleInput{.shape = {37}},
                                SampleInput{.shape = {}}, SampleInput{.shape = {2, 3}}},
                     .outputs = 3,
                     .attributes = {{"limit", limit}}});
  }
  return cases;
}

}  // namespace

void register_gradient_norm(Registry& registry) {
  registry.add(OpDef{.id = {kOnwardDomain, "GlobalNorm"},
                     .summary = "the L2 norm of all operands together",
                     .inputs = {1, kVariadic},
                     .outputs = {1, 1},
                     .infer = infer_norm,
                     .distribute = distribute_norm,
                     .samples = norm_samples,
                     .constant_folds = false,
                     .precision = PrecisionClass::kAccurate});
  registry.add(OpDef{.id = {kOnwardDomain, "ClipByNorm"},
                     .summary = "scales all operands down to a common norm",
                     .inputs = {2, kVariadic},
                     .outputs = {1, kVariadic},
                     .infer = infer_clip,
                     .samples = clip_samples,
                     .in_place_of = in_place_clip,
                     .constant_folds = false,
                     .precision = PrecisionClass::kAccurate});
}

}  // namespace onward
