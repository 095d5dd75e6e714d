#include "graph/tensor.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "graph/error.h"

namespace onward {

namespace {

constexpr std::size_t kAlignment = 64;

// calloc leaves large zeros to the pages that the system makes on first use: a program's optimizer state, as large as
// its parameters, costs nothing until somebody looks at it.
std::shared_ptr<std::byte[]> allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* block = std::calloc(rounded + 2 * kAlignment, 1);
  if (!block) throw std::bad_alloc();
  void* memory = block;
  std::size_t room = rounded + 2 * kAlignment;
  std::align(kAlignment, rounded + kAlignment, memory, room);
  return {static_cast<std::byte*>(memory), [block](std::byte*) { std::free(block); }};
}

template <typename T>
void widen(const void* source, std::vector<double>& out) {
  const T* values = static_cast<const T*>(source);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(values[i]);
}

template <typename T>
void narrow(const std::vector<double>& values, void* target) {
  T* out = static_cast<T*>(target);
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(values[i]);
}

}  // namespace

HostTensor::HostTensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)), data_(allocate(bytes())) {}

HostTensor::HostTensor(DType dtype, Shape shape, std::shared_ptr<std::byte[]> memory)
    : dtype_(dtype), shape_(std::move(shape)), data_(std::move(memory)) {}

void* HostTensor::edit() {
  if (data_.use_count() > 1) {
    auto copy = allocate(bytes());
    std::memcpy(copy.get(), data_.get(), bytes());
    data_ = std::move(copy);
  }
  return data_.get();
}

void HostTensor::assign(const void* source, std::size_t size) {
  if (size != bytes()) {
    throw Error(ErrorKind::kModel, fmt::format("expected {} bytes for a {} tensor of shape {}, found {}", bytes(),
                                               dtype_name(dtype_), to_string(shape_), size));
  }
  if (size) std::memcpy(data_.get(), source, size);
}

void HostTensor::check_dtype(DType wanted) const {
  if (dtype_ != wanted) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected a tensor of {}, found {}", dtype_name(wanted), dtype_name(dtype_)));
  }
}

std::vector<int64_t> HostTensor::to_int64() const {
  std::vector<int64_t> out(static_cast<std::size_t>(count()));
  const auto copy = [&]<typename T>(T) {
    const T* values = static_cast<const T*>(data());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(values[i]);
  };
  switch (dtype_) {
    case DType::kInt8: copy(int8_t{}); break;
    case DType::kUInt8: copy(uint8_t{}); break;
    case DType::kBool: copy(uint8_t{}); break;
    case DType::kInt16: copy(int16_t{}); break;
    case DType::kUInt16: copy(uint16_t{}); break;
    case DType::kInt32: copy(int32_t{}); break;
    case DType::kUInt32: copy(uint32_t{}); break;
    case DType::kInt64: copy(int64_t{}); break;
    case DType::kUInt64: copy(uint64_t{}); break;
    default: throw Error(ErrorKind::kModel, fmt::format("expected an integer tensor, found {}", dtype_name(dtype_)));
  }
  return out;
}

std::vector<double> HostTensor::to_double() const {
  std::vector<double> out(static_cast<std::size_t>(count()));
  switch (dtype_) {
    case DType::kFloat32: widen<float>(data(), out); break;
    case DType::kFloat64: widen<double>(data(), out); break;
    case DType::kFloat16:
    case DType::kBFloat16: {
      const auto* bits = static_cast<const uint16_t*>(data());
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = dtype_ == DType::kFloat16 ? half_to_float(bits[i]) : bfloat16_to_float(bits[i]);
      break;
    }
    default: {
      const std::vector<int64_t> integers = to_int64();
      out.assign(integers.begin(), integers.end());
    }
  }
  return out;
}

HostTensor HostTensor::cast(DType dtype) const {
  if (dtype == dtype_) return *this;
  HostTensor out(dtype, shape_);
  const std::vector<double> values = to_double();
  void* target = out.edit();
  switch (dtype) {
    case DType::kFloat32: narrow<float>(values, target); break;
    case DType::kFloat64: narrow<double>(values, target); break;
    case DType::kFloat16:
    case DType::kBFloat16: {
      auto* bits = static_cast<uint16_t*>(target);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto value = static_cast<float>(values[i]);
        bits[i] = dtype == DType::kFloat16 ? float_to_half(value) : float_to_bfloat16(value);
      }
      break;
    }
    case DType::kInt8: narrow<int8_t>(values, target); break;
    case DType::kUInt8: narrow<uint8_t>(values, target); break;
    case DType::kInt16: narrow<int16_t>(values, target); break;
    case DType::kUInt16: narrow<uint16_t>(values, target); break;
    case DType::kInt32: narrow<int32_t>(values, target); break;
    case DType::kUInt32: narrow<uint32_t>(values, target); break;
    case DType::kInt64: narrow<int64_t>(values, target); break;
    case DType::kUInt64: narrow<uint64_t>(values, target); break;
    case DType::kBool: {
      auto* bits = static_cast<uint8_t*>(target);
      for (std::size_t i = 0; i < values.size(); ++i) bits[i] = values[i] != 0;
      break;
    }
    default: throw Error(ErrorKind::kModel, fmt::format("cannot convert a tensor to {}", dtype_name(dtype)));
  }
  return out;
}

float bfloat16_to_float(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

uint16_t float_to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float half_to_float(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  float magnitude;
  if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else if (exponent == 31) {
    magnitude = mantissa ? std::nanf("") : INFINITY;
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t float_to_half(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520.0f) return sign | 0x7c00;
  if (magnitude < 0x1p-14f) {  // subnormal: a whole number of 2^-24
    return sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24f));
  }
  int exponent;
  const float fraction = std::frexp(magnitude, &exponent);  // fraction in [0.5, 1)
  const auto mantissa = static_cast<uint32_t>(std::nearbyint(fraction * 2048.0f));
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + mantissa - 1024);
}

}  // namespace onward
