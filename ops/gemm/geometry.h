#pragma once
#include <cstdint>

#include "graph/attributes.h"
#include "ops/core/kernel.h"

namespace onward {

inline const OpId kGemm{"", "Gemm"};

// Y (m, n) = alpha * A' (m, k) * B' (k, n) + beta * C, where A' and B' are A and B or their transposes.
struct GemmGeometry {
  int64_t m, n, k;
  bool transposed_a, transposed_b;
  double alpha, beta;
  // Step in C for one row and one column of Y: 0 where C is broadcast.
  int64_t c_row_step = 0, c_column_step = 0;
  bool has_c = false;

  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// `c` is nullptr if absent. Error(kModel) when the shapes do not fit.
GemmGeometry gemm_geometry(const Attributes& attributes, const Shape& a, const Shape& b, const Shape* c);
GemmGeometry gemm_geometry(const KernelSpec& spec);

// Rows [begin, end) of y become beta * C, or zeros if there is no C: what a product is then added to.
template <typename T>
void start_with_c(const GemmGeometry& geometry, const T* c, T* y, int64_t begin, int64_t end) {
  const T beta = static_cast<T>(geometry.beta);
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < geometry.n; ++j) {
      y[i * geometry.n + j] = geometry.has_c ? beta * c[i * geometry.c_row_step + j * geometry.c_column_step] : T(0);
    }
  }
}

}  // namespace onward
