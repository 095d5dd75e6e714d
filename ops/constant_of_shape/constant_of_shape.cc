// ConstantOfShape: a tensor of a constant shape, filled with the attribute `value` (one element; float32 0 if absent).
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  const HostTensor* shape = context.constant(0);
  context.require(shape != nullptr, "a constant shape", "a computed one");
  const auto& attributes = context.attributes();
  context.set(0, attributes.has("value") ? attributes.get_tensor("value").dtype() : DType::kFloat32, shape->to_int64());
}

void distribute(DistributionContext& context) { context.set_all(Distribution::kReplicated); }

std::vector<SampleCase> samples() {
  const std::vector<std::optional<SampleInput>> shape{
      SampleInput{.shape = {2}, .dtype = DType::kInt64, .values = {2, 3}}};
  return {{.name = "ones", .inputs = shape, .attributes = {{"value", HostTensor::from<int64_t>({1}, {1})}}},
          {.name = "zeros", .inputs = shape}};
}

}  // namespace

void register_constant_of_shape(Registry& registry) {
  registry.add(OpDef{.id = {"", "ConstantOfShape"},
                     .versions = {9, 20, 21, 23, 24, 25},
                     .summary = "a tensor of one repeated number",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .distribute = distribute,
                     .samples = samples});
}

}  // namespace onward
