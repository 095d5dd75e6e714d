// Unsqueeze: inserts dimensions of size 1. Normal form: attribute `axes` of the output, ascending and non-negative.
#include <algorithm>

#include "ops/core/axes.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"
#include "ops/core/view.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  const Shape shape = context.shape(0);
  const std::vector<int64_t> given = context.attributes().get_ints("axes");
  const std::size_t rank = shape.size() + given.size();
  const std::vector<int64_t> axes = resolve_axes(given, rank);
  Shape result;
  auto next = shape.begin();
  for (std::size_t i = 0; i < rank; ++i) {
    result.push_back(std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i)) ? 1 : *next++);
  }
  context.set(0, context.dtype(0), result);
}

void normalise(NormaliseContext& context) {
  context.input_to_ints(1, "axes");
  Attributes& attributes = context.node().attributes;
  const std::vector<int64_t> axes = attributes.get_ints("axes");
  attributes.set("axes", resolve_axes(axes, context.node().input(0)->type.shape().size() + axes.size()));
}

std::vector<SampleCase> samples() {
  return {
      {.name = "spatial",
       .inputs = {SampleInput{.shape = {2, 3}}},
       .attributes = {{"axes", Shape{2, 3}}},
       .gradients = {0}},
      {.name = "around",
       .inputs = {SampleInput{.shape = {3}}},
       .attributes = {{"axes", Shape{0, 2}}},
       .gradients = {0}},
      {.name = "scalar", .inputs = {SampleInput{.shape = {}}}, .attributes = {{"axes", Shape{0}}}, .gradients = {0}}};
}

}  // namespace

void register_unsqueeze(Registry& registry) {
  registry.add(OpDef{.id = {"", "Unsqueeze"},
                     .versions = {1, 11, 13, 21, 23, 24, 25},
                     .summary = "inserts dimensions of size 1",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = view_gradient,
                     .normalise = normalise,
                     .distribute = distribute_view,
                     .samples = samples,
                     .views = {{0, 0}}});
}

}  // namespace onward
