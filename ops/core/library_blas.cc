#include <cblas.h>

#include <algorithm>

#include "ops/core/blas.h"

namespace onward::blas {

void use_one_thread() { openblas_set_num_threads(1); }

void product(bool transposed_a, bool transposed_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
             int64_t a_pitch, const double* b, int64_t b_pitch, double beta, double* y, int64_t y_pitch) {
  const auto narrow = [](int64_t size) { return static_cast<blasint>(size); };
  const auto pitch = [&](int64_t p) {
    return narrow(std::max<int64_t>(p, 1));
  };  // the library refuses 0 even for empty matrices
  cblas_dgemm(CblasRowMajor, transposed_a ? CblasTrans : CblasNoTrans, transposed_b ? CblasTrans : CblasNoTrans,
              narrow(m), narrow(n), narrow(k), alpha, a, pitch(a_pitch), b, pitch(b_pitch), beta, y, pitch(y_pitch));
}

}  // namespace onward::blas
