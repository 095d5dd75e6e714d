// Flatten: two dimensions, the product of those before `axis` and that of the others. Normal form: `axis` in 0 ...
// rank.
#include "ops/core/axes.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"
#include "ops/core/view.h"

namespace onward {
namespace {

Shape flattened(const Shape& shape, int64_t axis) {
  Shape result{1, 1};
  for (std::size_t i = 0; i < shape.size(); ++i) result[static_cast<int64_t>(i) < axis ? 0 : 1] *= shape[i];
  return result;
}

void infer(InferContext& context) {
  const Shape shape = context.shape(0);
  context.set(0, context.dtype(0),
              flattened(shape, resolve_axis(context.attributes().get_int("axis", 1), shape.size(), true)));
}

void normalise(NormaliseContext& context) {
  Attributes& attributes = context.node().attributes;
  const std::size_t rank = context.node().input(0)->type.shape().size();
  attributes = Attributes{{"axis", resolve_axis(attributes.get_int("axis", 1), rank, true)}};
}

std::vector<SampleCase> samples() {
  return {{.name = "image",
           .inputs = {SampleInput{.shape = {2, 3, 4, 5}}},
           .attributes = {{"axis", int64_t{1}}},
           .gradients = {0}},
          {.name = "axis_0",
           .inputs = {SampleInput{.shape = {2, 3}}},
           .attributes = {{"axis", int64_t{0}}},
           .gradients = {0}},
          {.name = "axis_end",
           .inputs = {SampleInput{.shape = {2, 3}}},
           .attributes = {{"axis", int64_t{2}}},
           .gradients = {0}}};
}

}  // namespace

void register_flatten(Registry& registry) {
  registry.add(OpDef{.id = {"", "Flatten"},
                     .versions = {1, 9, 11, 13, 21, 23, 24, 25},
                     .summary = "two dimensions: those before an axis, and the others",
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
