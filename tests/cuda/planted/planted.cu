#include "ops/core/cuda/warp.h"
#include "tests/cuda/planted/planted.h"

namespace onward::test {
namespace {

constexpr int kThreads = 128;

__device__ void barrier_unless(bool missing) {
  if (!missing) __syncthreads();
}

__global__ void planted_kernel(Fault fault, const float* x, float* y, int64_t columns) {
  ONWARD_SHARED(float, sums, kThreads);
  const int thread = static_cast<int>(threadIdx.x);
  if (fault == Fault::kHalfAtABarrier) {
    if (thread < 16) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
  if (fault == Fault::kShuffleWithNobody) {
    if (thread % kWarpLanes >= 16) return;
    sums[thread] = warp_sum(1.0f);
  }
  float total = 0;
  for (int pass = 0; pass < 2; ++pass) {
    float own = 0;
    for (int64_t i = thread; i < columns; i += kThreads) own += x[blockIdx.x * columns + i];
    sums[thread] = own;
    barrier_unless(fault == Fault::kMissingBlockBarrier);
    if (thread == 0) {
      for (int i = 0; i < kThreads; ++i) total += sums[i];
    }
    barrier_unless(fault == Fault::kMissingReuseBarrier);
  }
  if (fault == Fault::kMissingWarpBarrier && thread < kWarpLanes) {
    sums[thread] = 0;
    total += sums[(thread + 1) % kWarpLanes];
  }
  if (thread != 0) return;
  if (fault == Fault::kTwoBlocksOneSum) {
    y[0] += total;
  } else {
    y[blockIdx.x] = total;
  }
  if (fault == Fault::kReadOfAnotherBlock) y[blockIdx.x] += y[(blockIdx.x + 1) % gridDim.x];
}

}  // namespace

void run_planted(Fault fault, const float* x, float* y, int64_t rows, int64_t columns) {
  launch(planted_kernel, {.grid = dim3(static_cast<unsigned>(rows)), .block = dim3(kThreads)}, nullptr, fault, x, y,
         columns);
}

}  // namespace onward::test
