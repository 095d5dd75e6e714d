#pragma once
// The lines of a tensor along the attribute `axis`, each done by one warp.
#include <cmath>

#include "ops/core/cuda/warp.h"
#include "ops/core/kernel.h"
#include "ops/softmax/lines.h"

namespace onward {

inline constexpr int kLineThreads = 256;

struct DeviceLines {
  int64_t count, length, stride;

  explicit DeviceLines(const KernelSpec& spec) {
    const AxisSplit split = split_along_axis(spec);
    count = split.outer * split.inner;
    length = split.axis;
    stride = split.inner;
  }

  // Where a line starts.
  __device__ int64_t offset(int64_t line) const { return line / stride * length * stride + line % stride; }
};

// One warp for each of `count` lines or labels.
inline LaunchShape warp_each(int64_t count) {
  constexpr int64_t kWarps = kLineThreads / kWarpLanes;
  return {.grid = dim3(static_cast<unsigned>((count + kWarps - 1) / kWarps)), .block = dim3(kLineThreads)};
}

__device__ inline int64_t warp_index() { return (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarpLanes; }
__device__ inline int lane_index() { return static_cast<int>(threadIdx.x) % kWarpLanes; }

// The largest element of a line and sum exp(x - largest), on every lane.
struct DeviceLineSum {
  float largest;
  float sum;
};

template <typename T>
__device__ DeviceLineSum exponential_sum_of_warp(const T* x, int64_t length, int64_t stride) {
  float largest = -INFINITY;
  for (int64_t i = lane_index(); i < length; i += kWarpLanes) {
    const float value = static_cast<float>(x[i * stride]);
    largest = value > largest ? value : largest;
  }
  largest = warp_max(largest);
  float sum = 0;
  for (int64_t i = lane_index(); i < length; i += kWarpLanes) {
    sum += expf(static_cast<float>(x[i * stride]) - largest);
  }
  return {largest, warp_sum(sum)};
}

}  // namespace onward
