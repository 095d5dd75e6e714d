#include "models/initialise.h"

#include <algorithm>
#include <cmath>

#include "graph/random.h"

namespace onward {
namespace {

constexpr uint64_t kStep = 0;  // weights are drawn once

template <typename Draw>
HostTensor filled(const Shape& shape, Draw draw) {
  HostTensor tensor(DType::kFloat32, shape);
  uint64_t index = 0;
  for (float& element : tensor.edit_values<float>()) element = static_cast<float>(draw(index++));
  return tensor;
}

}  // namespace

HostTensor Initialiser::kaiming_normal(const Shape& shape) {
  const RandomStream stream(seed_, RandomPurpose::kInitialise, next_site_++);
  const double deviation = std::sqrt(2.0 / static_cast<double>(element_count(shape) / shape[0]));
  return filled(shape, [&](uint64_t index) { return deviation * stream.normal(kStep, index); });
}

HostTensor Initialiser::uniform(const Shape& shape, int64_t fan_in) {
  const RandomStream stream(seed_, RandomPurpose::kInitialise, next_site_++);
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  return filled(shape, [&](uint64_t index) { return bound * (2.0 * stream.uniform(kStep, index) - 1.0); });
}

HostTensor Initialiser::constant(int64_t count, float value) {
  HostTensor tensor(DType::kFloat32, {count});
  std::ranges::fill(tensor.edit_values<float>(), value);
  return tensor;
}

}  // namespace onward
