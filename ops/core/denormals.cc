#include "ops/core/denormals.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace onward {

void flush_denormals() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

}  // namespace onward
