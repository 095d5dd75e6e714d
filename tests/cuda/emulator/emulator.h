#pragma once
// What the emulator tells of the threads it runs, for those who watch memory accesses (races.cc).
#include <cstdint>

namespace onward::emulator {

struct Position {
  bool in_kernel = false;  // else host code runs
  uint64_t launch = 0;
  uint64_t block = 0;   // counted over the grid
  uint32_t thread = 0;  // counted over the block
  // How many barriers of the block and of the thread's warp it has passed.
  uint64_t block_barriers = 0;
  uint64_t warp_barriers = 0;
};
Position position();

// Whether an address belongs to a fiber's stack: private to one thread.
bool is_private(const void* address);
// Whether an address belongs to the running block's shared memory.
bool is_shared(const void* address);

}  // namespace onward::emulator
