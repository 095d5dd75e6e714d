// Range: start, start + delta, ... below limit, from constant scalars.
#include <algorithm>
#include <cmath>

#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  double bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const HostTensor* number = context.constant(i);
    context.require(number && number->count() == 1, "constant scalars", "input " + std::to_string(i) + " computed");
    bounds[i] = number->to_double()[0];
  }
  context.require(bounds[2] != 0, "a step other than 0", "0");
  const auto count = static_cast<int64_t>(std::ceil((bounds[1] - bounds[0]) / bounds[2]));
  context.set(0, context.dtype(0), {std::max<int64_t>(count, 0)});
}

void distribute(DistributionContext& context) { context.set_all(Distribution::kReplicated); }

SampleInput number(double value, DType dtype) {
  return {.shape = {}, .dtype = dtype, .values = {value}, .exact_type = true};
}

std::vector<SampleCase> samples() {
  const auto range = [](double start, double limit, double delta, DType dtype) {
    return std::vector<std::optional<SampleInput>>{number(start, dtype), number(limit, dtype), number(delta, dtype)};
  };
  return {{.name = "up", .inputs = range(2, 9, 3, DType::kInt64)},
          {.name = "down", .inputs = range(5, -1, -2, DType::kInt32)},
          {.name = "float32", .inputs = range(1, 2, 0.25, DType::kFloat32)},
          {.name = "float64", .inputs = range(1, -1, -0.3, DType::kFloat64)},
          {.name = "empty", .inputs = range(5, 5, 1, DType::kInt64)}};
}

}  // namespace

void register_range(Registry& registry) {
  registry.add(OpDef{.id = {"", "Range"},
                     .versions = {11, 27},
                     .summary = "evenly spaced numbers",
                     .inputs = {3, 3},
                     .outputs = {1, 1},
                     .infer = infer,
                     .distribute = distribute,
                     .samples = samples});
}

}  // namespace onward
