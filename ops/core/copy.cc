#include "ops/core/copy.h"

#include <cstring>

#include "ops/core/parallel.h"

namespace onward {

void parallel_copy(const void* source, void* target, std::size_t bytes) {
  constexpr int64_t kGrainBytes = 65536;
  if (source == target) return;
  parallel_for(static_cast<int64_t>(bytes), kGrainBytes, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(target) + begin, static_cast<const char*>(source) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

}  // namespace onward
