#pragma once
#include <cstdint>
#include <vector>

#include "graph/types.h"

namespace onward {

// NumPy's matmul: Y[i] (m, n) = A[i] (m, k) * B[i] (k, n) for every item i of the broadcast batch dimensions.
// One-dimensional operands are a row on the left and a column on the right, and leave no dimension in Y.
struct MatMulGeometry {
  int64_t m, n, k;
  Shape a_batch, b_batch, batch;  // dimensions before the last two, and what they broadcast to
  Shape output;
  // Where the matrices of each item start, in elements.
  std::vector<int64_t> a_offsets, b_offsets;

  int64_t items() const { return static_cast<int64_t>(a_offsets.size()); }
  double flops() const {
    return 2.0 * static_cast<double>(items()) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
};

// Error(kModel) when the shapes do not fit.
MatMulGeometry matmul_geometry(const Shape& a, const Shape& b);

}  // namespace onward
