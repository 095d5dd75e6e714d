#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onward {

// Element types, with the numbers of ONNX's TensorProto.DataType.
enum class DType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
};

// "float32", "int64", ...; "type 17" for a number without a name.
std::string dtype_name(DType dtype);
// Bytes of one element; 0 for strings and undefined.
std::size_t dtype_size(DType dtype);
// float16, bfloat16, float32, float64: the types that gradients flow through.
bool is_floating(DType dtype);
bool is_integer(DType dtype);

template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::kFloat32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::kFloat64;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::kInt64;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::kUInt8;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::kBool;
}

// Static dimensions in logical order (N, C, spatial).
using Shape = std::vector<int64_t>;

// Product of the dimensions; 1 for a scalar.
int64_t element_count(const Shape& shape);
// "64x3x32x32"; "scalar" for rank 0.
std::string to_string(const Shape& shape);
// The shape that NumPy-style broadcasting gives; nullopt if the two do not fit.
std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b);

// One dimension as a file declares it: a number, a name (dim_param), or unknown (no number and no name).
struct Dim {
  int64_t value = -1;
  std::string name;

  Dim() = default;
  Dim(int64_t v) : value(v) {}
  explicit Dim(std::string n) : name(std::move(n)) {}
  bool known() const { return value >= 0; }
  bool operator==(const Dim&) const = default;
};

// The logical type of a value. Physical layouts belong to the plan.
struct TensorType {
  DType dtype = DType::kUndefined;
  std::optional<std::vector<Dim>> dims;  // no value: the rank is unknown

  TensorType() = default;
  TensorType(DType d, const Shape& shape) : dtype(d), dims(std::vector<Dim>(shape.begin(), shape.end())) {}

  bool is_static() const;
  // The dimensions as numbers. Error(kModel) if one is not known.
  Shape shape() const;
  // "float32[N,3,32,32]", "float32[?]" for an unknown rank.
  std::string text() const;
  bool operator==(const TensorType&) const = default;
};

}  // namespace onward
