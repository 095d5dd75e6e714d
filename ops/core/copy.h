#pragma once
#include <cstddef>

namespace onward {

// Copies on the calling thread's team. Source and target are apart or the same; then nothing is done.
void parallel_copy(const void* source, void* target, std::size_t bytes);

}  // namespace onward
