#pragma once
#include <cstdint>

namespace onward::blas {

// Keeps the library on the calling thread: the kernels cut the work themselves, so that results repeat.
void use_one_thread();

// y (m, n) = alpha * a' (m, k) * b' (k, n) + beta * y, all row-major; a' and b' are a and b or their transposes. The
// pitches are the distances between rows as stored.
void product(bool transposed_a, bool transposed_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
             int64_t a_pitch, const double* b, int64_t b_pitch, double beta, double* y, int64_t y_pitch);

}  // namespace onward::blas
