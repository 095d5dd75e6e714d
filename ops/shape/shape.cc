// Shape: the dimensions of a tensor as int64; Size: the number of its elements. Static programs know both, so that they
// fold, and with them the chains that exporters build on them (Gather, Concat, Reshape).
#include <algorithm>

#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"
#include "ops/shape/shape_range.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  const Shape part = shape_range(context.shape(0), context.attributes());
  context.set(0, DType::kInt64, {static_cast<int64_t>(part.size())});
}

void distribute(DistributionContext& context) { context.set_all(Distribution::kReplicated); }

void infer_size(InferContext& context) { context.set(0, DType::kInt64, {}); }

std::vector<SampleCase> samples() {
  const std::vector<std::optional<SampleInput>> image{SampleInput{.shape = {2, 3, 4, 5}}};
  return {{.name = "image", .inputs = image},
          {.name = "spatial", .inputs = image, .attributes = {{"start", int64_t{-2}}}},
          {.name = "channels", .inputs = image, .attributes = {{"start", int64_t{1}}, {"end", int64_t{2}}}},
          {.name = "scalar", .inputs = {SampleInput{.shape = {}}}}};
}

std::vector<SampleCase> size_samples() {
  return {{.name = "image", .inputs = {SampleInput{.shape = {2, 3, 4, 5}}}},
          {.name = "scalar", .inputs = {SampleInput{.shape = {}}}}};
}

}  // namespace

Shape shape_range(const Shape& shape, const Attributes& attributes) {
  const auto rank = static_cast<int64_t>(shape.size());
  const auto clamp = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + rank : position, 0, rank);
  };
  const int64_t begin = clamp(attributes.get_int("start", 0)), end = clamp(attributes.get_int("end", rank));
  return begin < end ? Shape(shape.begin() + begin, shape.begin() + end) : Shape{};
}

void register_shape(Registry& registry) {
  registry.add(OpDef{.id = {"", "Shape"},
                     .versions = {1, 13, 15, 19, 21, 23, 24, 25},
                     .summary = "the dimensions of a tensor",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .distribute = distribute,
                     .samples = samples});
  registry.add(OpDef{.id = {"", "Size"},
                     .versions = {1, 13, 19, 21, 23, 24, 25},
                     .summary = "the number of elements",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer_size,
                     .distribute = distribute,
                     .samples = size_samples});
}

}  // namespace onward
