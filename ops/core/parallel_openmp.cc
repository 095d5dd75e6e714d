#include <omp.h>

#include "ops/core/denormals.h"
#include "ops/core/parallel.h"

namespace onward {

void prepare_compute_thread(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
#pragma omp parallel
  flush_denormals();
}

int team_size() { return omp_get_max_threads(); }

TeamSizeScope::TeamSizeScope(int threads) : before_(omp_get_max_threads()) {
  if (threads != before_) omp_set_num_threads(threads);
}

TeamSizeScope::~TeamSizeScope() {
  if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
}

namespace detail {

void run_parts(int64_t parts, void (*body)(void*, int64_t), void* state) {
#pragma omp parallel num_threads(static_cast <int>(parts))
  body(state, omp_get_thread_num());
}

}  // namespace detail

}  // namespace onward
