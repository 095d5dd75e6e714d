#pragma once
// Reductions over threads in a fixed tree, so that their bits repeat.
#include "ops/core/cuda/launch.h"

namespace onward {

inline constexpr unsigned kWholeWarp = 0xffffffffu;
inline constexpr int kWarpLanes = 32;

// The sum over the warp's lanes, on every lane. All lanes must call it.
template <typename T>
__device__ T warp_sum(T value) {
#pragma unroll
  for (int mask = kWarpLanes / 2; mask > 0; mask /= 2) value += __shfl_xor_sync(kWholeWarp, value, mask);
  return value;
}

template <typename T>
__device__ T warp_max(T value) {
#pragma unroll
  for (int mask = kWarpLanes / 2; mask > 0; mask /= 2) {
    const T other = __shfl_xor_sync(kWholeWarp, value, mask);
    value = other > value ? other : value;
  }
  return value;
}

// The sum over the threads of a block of kThreads x 1 x 1, right on thread 0 only. All threads must call it.
template <int kThreads, typename T>
__device__ T block_sum(T value) {
  constexpr int kWarps = kThreads / kWarpLanes;
  ONWARD_SHARED(T, sums, kWarps);
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes, warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  __syncthreads();  // an earlier call may still be reading `sums`
  value = warp_sum(value);
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  if (warp == 0) value = warp_sum(lane < kWarps ? sums[lane] : T(0));
  return value;
}

}  // namespace onward
