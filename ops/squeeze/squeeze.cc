// Squeeze: drops dimensions of size 1. Normal form: attribute `axes`, ascending and non-negative.
//
// Without axes the op drops every dimension of size 1. That must not take the rows of a batch that happens to hold one
// sample: for an input that is computed from a batch, dimension 0 stays.
#include <algorithm>

#include "ops/core/axes.h"
#include "ops/core/batch_dependence.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"
#include "ops/core/view.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  const Shape shape = context.shape(0);
  const std::vector<int64_t> axes = resolve_axes(context.attributes().get_ints("axes"), shape.size());
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool dropped = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
    context.require(!dropped || shape[i] == 1, "size 1 in dimension " + std::to_string(i), to_string(shape));
    if (!dropped) result.push_back(shape[i]);
  }
  context.set(0, context.dtype(0), result);
}

std::vector<int64_t> axes_of_size_one(const Value& value) {
  const Shape shape = value.type.shape();
  std::vector<int64_t> axes;
  for (std::size_t i = depends_on_batch(value) ? 1 : 0; i < shape.size(); ++i) {
    if (shape[i] == 1) axes.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

void normalise(NormaliseContext& context) {
  context.input_to_ints(1, "axes");
  Attributes& attributes = context.node().attributes;
  const Value& data = *context.node().input(0);
  attributes.set("axes", attributes.has("axes") ? resolve_axes(attributes.get_ints("axes"), data.type.shape().size())
                                                : axes_of_size_one(data));
}

std::vector<SampleCase> samples() {
  return {
      {.name = "spatial",
       .inputs = {SampleInput{.shape = {2, 3, 1, 1}}},
       .attributes = {{"axes", Shape{2, 3}}},
       .gradients = {0}},
      {.name = "first", .inputs = {SampleInput{.shape = {1, 3}}}, .attributes = {{"axes", Shape{0}}}, .gradients = {0}},
      {.name = "none", .inputs = {SampleInput{.shape = {2, 1}}}, .attributes = {{"axes", Shape{}}}, .gradients = {0}}};
}

}  // namespace

void register_squeeze(Registry& registry) {
  registry.add(OpDef{.id = {"", "Squeeze"},
                     .versions = {1, 11, 13, 21, 23, 24, 25},
                     .summary = "drops dimensions of size 1",
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
