#include "graph/types.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace onward {

namespace {

struct DTypeInfo {
  DType dtype;
  const char* name;
  std::size_t size;
};

constexpr DTypeInfo kDTypes[] = {
    {DType::kUndefined, "undefined", 0}, {DType::kFloat32, "float32", 4},
    {DType::kUInt8, "uint8", 1},         {DType::kInt8, "int8", 1},
    {DType::kUInt16, "uint16", 2},       {DType::kInt16, "int16", 2},
    {DType::kInt32, "int32", 4},         {DType::kInt64, "int64", 8},
    {DType::kString, "string", 0},       {DType::kBool, "bool", 1},
    {DType::kFloat16, "float16", 2},     {DType::kFloat64, "float64", 8},
    {DType::kUInt32, "uint32", 4},       {DType::kUInt64, "uint64", 8},
    {DType::kComplex64, "complex64", 8}, {DType::kComplex128, "complex128", 16},
    {DType::kBFloat16, "bfloat16", 2},
};

const DTypeInfo* find(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < std::size(kDTypes) ? &kDTypes[index] : nullptr;
}

}  // namespace

std::string dtype_name(DType dtype) {
  const DTypeInfo* info = find(dtype);
  return info ? info->name : fmt::format("type {}", static_cast<int>(dtype));
}

std::size_t dtype_size(DType dtype) {
  const DTypeInfo* info = find(dtype);
  return info ? info->size : 0;
}

bool is_floating(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64: return true;
    default: return false;
  }
}

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (int64_t d : shape) count *= d;
  return count;
}

std::string to_string(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1) return std::nullopt;
    out[out.size() - 1 - i] = da == 1 ? db : da;
  }
  return out;
}

bool TensorType::is_static() const {
  return dims && std::all_of(dims->begin(), dims->end(), [](const Dim& d) { return d.known(); });
}

Shape TensorType::shape() const {
  if (!is_static()) throw Error(ErrorKind::kModel, fmt::format("expected a static shape, found {}", text()));
  Shape shape;
  for (const Dim& d : *dims) shape.push_back(d.value);
  return shape;
}

std::string TensorType::text() const {
  if (!dims) return dtype_name(dtype) + "[?]";
  std::vector<std::string> parts;
  for (const Dim& d : *dims) parts.push_back(d.known() ? std::to_string(d.value) : d.name.empty() ? "?" : d.name);
  return fmt::format("{}[{}]", dtype_name(dtype), fmt::join(parts, ","));
}

}  // namespace onward
