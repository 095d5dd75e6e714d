#pragma once
#include <cstdint>

#include "graph/types.h"

namespace onward {

// Indices or labels that are int32 or int64.
class IndexReader {
 public:
  IndexReader(const void* data, DType dtype) : data_(data), wide_(dtype == DType::kInt64) {}
  int64_t operator[](int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(data_)[i] : static_cast<const int32_t*>(data_)[i];
  }

 private:
  const void* data_;
  bool wide_;
};

}  // namespace onward
