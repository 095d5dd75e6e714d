#pragma once
// y[i] = function(x0[i], x1[i], ...) over whole buffers, in whatever layout they share. y may be one of the inputs.
#include <cstdint>

#include "ops/core/cuda/pack.h"

namespace onward {

inline constexpr int kPointwiseThreads = 256;
inline constexpr int64_t kPointwiseBlocks = 2048;  // enough to fill any GPU; further elements are a loop

// As many blocks as `items` threads need, but no more than fill the GPU.
inline LaunchShape pointwise_shape(int64_t items) {
  const int64_t blocks = (items + kPointwiseThreads - 1) / kPointwiseThreads;
  return {.grid = dim3(static_cast<unsigned>(blocks < kPointwiseBlocks ? blocks : kPointwiseBlocks)),
          .block = dim3(kPointwiseThreads)};
}

template <int N, typename F, typename Y, typename... X>
__device__ void pointwise_pack(const F& function, Y* y, Pack<X, N>... x) {
  Pack<Y, N> out;
#pragma unroll
  for (int k = 0; k < N; ++k) out.at[k] = function(x.at[k]...);
  store_pack(y, out);
}

template <typename F, typename Y, typename... X>
__global__ void __launch_bounds__(kPointwiseThreads) pointwise_kernel(F function, int64_t count, Y* y, const X*... x) {
  constexpr int kPack = pack_size<Y, X...>();
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, threads = int64_t{gridDim.x} * blockDim.x;
  const int64_t packs = count / kPack;
  for (int64_t p = thread; p < packs; p += threads) {
    pointwise_pack<kPack>(function, y + p * kPack, load_pack<kPack>(x + p * kPack)...);
  }
  const int64_t rest = packs * kPack + thread;
  if (rest < count) y[rest] = function(x[rest]...);
}

template <typename F, typename Y, typename... X>
void pointwise(int64_t count, void* stream, const F& function, Y* y, const X*... x) {
  // One thread a pack, and at least as many as the rest behind the last pack needs.
  const int64_t packs = (count + pack_size<Y, X...>() - 1) / pack_size<Y, X...>();
  launch(pointwise_kernel<F, Y, X...>, pointwise_shape(packs), stream, function, count, y, x...);
}

}  // namespace onward
