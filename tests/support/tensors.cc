#include "tests/support/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

namespace onward::test {

HostTensor random_tensor(DType dtype, const Shape& shape, double low, double high, uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& value : values) {
    const double unit = static_cast<double>(bits() >> 11) * 0x1p-53;
    value = is_floating(dtype) ? low + unit * (high - low) : std::floor(low + unit * (high - low + 1));
  }
  return tensor_of(dtype, shape, values);
}

HostTensor tensor_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  return HostTensor::from<double>(shape, values).cast(dtype);
}

HostTensor reshaped(const HostTensor& tensor, const Shape& shape) {
  HostTensor result(tensor.dtype(), shape);
  if (result.bytes() != tensor.bytes()) throw std::invalid_argument("another number of elements");
  if (result.bytes()) std::memcpy(result.edit(), tensor.data(), result.bytes());
  return result;
}

std::vector<MaybeTensor> sample_tensors(const SampleCase& sample, DType dtype) {
  std::vector<MaybeTensor> tensors;
  for (const auto& input : sample.inputs) {
    if (!input) {
      tensors.push_back(std::nullopt);
      continue;
    }
    const DType type = input->dtype == DType::kFloat64 && !input->exact_type ? dtype : input->dtype;
    tensors.push_back(input->values.empty()
                          ? random_tensor(type, input->shape, input->low, input->high, 17 + tensors.size())
                          : tensor_of(type, input->shape, input->values));
  }
  return tensors;
}

testing::AssertionResult all_close(const HostTensor& found, const HostTensor& expected, double relative,
                                   double absolute) {
  if (found.shape() != expected.shape()) {
    return testing::AssertionFailure() << "shape " << to_string(found.shape()) << ", expected "
                                       << to_string(expected.shape());
  }
  if (is_floating(found.dtype()) != is_floating(expected.dtype())) {
    return testing::AssertionFailure() << "type " << dtype_name(found.dtype()) << ", expected "
                                       << dtype_name(expected.dtype());
  }
  const bool exact = !is_floating(found.dtype());
  const std::vector<double> a = found.to_double(), b = expected.to_double();
  double scale = 0;
  for (double value : b) {
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double allowed = exact ? 0 : relative * (std::fabs(b[i]) + scale) + absolute;
    if (!(std::fabs(a[i] - b[i]) <= allowed)) {
      return testing::AssertionFailure() << "element " << i << " of " << to_string(found.shape()) << " is " << a[i]
                                         << ", expected " << b[i] << " within " << allowed;
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult same_bits(const HostTensor& found, const HostTensor& expected) {
  if (!(found.type() == expected.type())) {
    return testing::AssertionFailure() << found.type().text() << ", expected " << expected.type().text();
  }
  if (found.bytes() == 0 || std::memcmp(found.data(), expected.data(), found.bytes()) == 0)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "different bits in a " << found.type().text();
}

namespace {

// Copies between (N, C, rest) and (N, rest, C).
HostTensor swap_channels(const HostTensor& source, bool to_last) {
  const Shape& shape = source.shape();
  if (shape.size() < 3) return source;
  const int64_t channels = shape[1];
  const int64_t spatial = element_count({shape.begin() + 2, shape.end()});
  const std::size_t size = dtype_size(source.dtype());
  HostTensor out(source.dtype(), shape);
  auto* to = static_cast<std::byte*>(out.edit());
  const auto* from = static_cast<const std::byte*>(source.data());
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t s = 0; s < spatial; ++s) {
        const int64_t first = (n * channels + c) * spatial + s;
        const int64_t last = (n * spatial + s) * channels + c;
        std::memcpy(to + (to_last ? last : first) * size, from + (to_last ? first : last) * size, size);
      }
    }
  }
  return out;
}

}  // namespace

HostTensor to_layout(const HostTensor& row_major, Layout layout) {
  return layout == Layout::kRowMajor ? row_major : swap_channels(row_major, true);
}

HostTensor from_layout(const HostTensor& stored, Layout layout) {
  return layout == Layout::kRowMajor ? stored : swap_channels(stored, false);
}

}  // namespace onward::test
