#pragma once
#include <cstdint>

namespace onward::test {

// Small kernels that are right or have one fault planted, to see that the emulator and the race hooks find it.
enum class Fault {
  kNone,
  kMissingBlockBarrier,  // shared memory is read before all have written it
  kMissingReuseBarrier,  // shared memory is written again while others still read it
  kMissingWarpBarrier,   // the same within a warp
  kTwoBlocksOneSum,      // two blocks add to one place
  kReadOfAnotherBlock,   // a block reads what another writes
  kHalfAtABarrier,       // some threads wait for a barrier that others never reach
  kShuffleWithNobody,    // a shuffle reads a lane that has ended
};

// y[row] = 2 * the sum of row `row` of x [rows, columns], twice over to use the shared memory again. A block a row.
void run_planted(Fault fault, const float* x, float* y, int64_t rows, int64_t columns);

}  // namespace onward::test
