#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/types.h"

namespace onward {

// A tensor in host memory: row-major, 64-byte aligned. Copies share the data; edit() makes it unshared first.
class HostTensor {
 public:
  HostTensor() = default;
  // Zero-filled.
  HostTensor(DType dtype, Shape shape);
  // On memory from elsewhere (a pool, say): 64-byte aligned, at least bytes() of it, its content kept. The memory is
  // released with the last copy of the tensor.
  HostTensor(DType dtype, Shape shape, std::shared_ptr<std::byte[]> memory);

  template <typename T>
  static HostTensor from(Shape shape, const std::vector<T>& values) {
    HostTensor tensor(dtype_of<T>(), std::move(shape));
    tensor.assign(values.data(), values.size() * sizeof(T));
    return tensor;
  }
  template <typename T>
  static HostTensor scalar(T value) {
    return from<T>({}, std::vector<T>{value});
  }

  bool empty() const { return dtype_ == DType::kUndefined; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  TensorType type() const { return {dtype_, shape_}; }
  int64_t count() const { return element_count(shape_); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * dtype_size(dtype_); }

  const void* data() const { return data_.get(); }
  void* edit();
  // Error(kModel) if T is not the element type.
  template <typename T>
  std::span<const T> values() const {
    check_dtype(dtype_of<T>());
    return {static_cast<const T*>(data()), static_cast<std::size_t>(count())};
  }
  template <typename T>
  std::span<T> edit_values() {
    check_dtype(dtype_of<T>());
    return {static_cast<T*>(edit()), static_cast<std::size_t>(count())};
  }
  // Any integer type as int64; Error(kModel) for other types.
  std::vector<int64_t> to_int64() const;
  // Any numeric type as double; Error(kModel) for strings and complex.
  std::vector<double> to_double() const;
  // The same values in another numeric type (float rounding: to nearest even).
  HostTensor cast(DType dtype) const;

 private:
  void assign(const void* source, std::size_t bytes);
  void check_dtype(DType wanted) const;

  DType dtype_ = DType::kUndefined;
  Shape shape_;
  std::shared_ptr<std::byte[]> data_;
};

// IEEE half and bfloat16 from and to float, round to nearest even.
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_bfloat16(float value);

}  // namespace onward
