#include "ops/core/denormals.h"
#include "ops/core/parallel.h"

namespace onward {

void prepare_compute_thread(int) { flush_denormals(); }

int team_size() { return 1; }

TeamSizeScope::TeamSizeScope(int) : before_(1) {}
TeamSizeScope::~TeamSizeScope() = default;

namespace detail {

void run_parts(int64_t parts, void (*body)(void*, int64_t), void* state) {
  for (int64_t part = 0; part < parts; ++part) body(state, part);
}

}  // namespace detail

}  // namespace onward
