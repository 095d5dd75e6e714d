#pragma once
// The emulator's side of ops/core/cuda/launch.h: CUDA C++ as plain C++, one fiber per CUDA thread, blocks one after
// another. No CUDA header is needed. What is not here (atomics, streams of its own, warp votes) no kernel may use.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __forceinline__ inline

struct uint3 {
  unsigned x, y, z;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}  // implicit, as in CUDA
};

// Of the running fiber; set by the emulator whenever it resumes one.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace onward {

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
};

namespace emulator {

// Runs body once per thread of the grid. Ends the process with a message where a GPU would hang or compute garbage: a
// barrier that some threads never reach, a shuffle with a lane that does not take part, a shape outside CUDA's limits.
void run(const LaunchShape& shape, const std::function<void()>& body);

void* dynamic_shared();
// The block's array for one declaration, the same for all its threads.
void* static_shared(const void* declaration, std::size_t bytes);
void block_barrier();
void warp_barrier();
// Every lane of the warp gives eight bytes and gets those of lane `source`.
uint64_t exchange(uint64_t value, int source);
int lane();

template <typename T>
T exchange_value(T value, int source) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(bits, source);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace emulator

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, void*, const Arguments&... arguments) {
  emulator::run(shape, [&] { kernel(static_cast<Parameters>(arguments)...); });
}

template <typename T>
T* dynamic_shared() {
  return static_cast<T*>(emulator::dynamic_shared());
}

inline void store_whole(uint4* to, const uint4& value) { *to = value; }

}  // namespace onward

#define ONWARD_SHARED(T, name, count)       \
  static const char name##_declaration = 0; \
  T* const name = static_cast<T*>(::onward::emulator::static_shared(&name##_declaration, sizeof(T) * (count)))

inline void __syncthreads() { onward::emulator::block_barrier(); }
inline void __syncwarp(unsigned = ~0u) { onward::emulator::warp_barrier(); }
template <typename T>
T __shfl_sync(unsigned, T value, int source) {
  return onward::emulator::exchange_value(value, source);
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return onward::emulator::exchange_value(value, onward::emulator::lane() ^ mask);
}
template <typename T>
T __shfl_down_sync(unsigned, T value, int delta) {
  const int lane = onward::emulator::lane();
  return onward::emulator::exchange_value(value, lane + delta < warpSize ? lane + delta : lane);
}
