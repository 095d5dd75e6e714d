#pragma once
#include <cstdint>
#include <cstring>

#include "ops/core/cuda/launch.h"

namespace onward {

// N neighbouring elements, read and written with as few accesses of up to 16 bytes as there can be. Buffers are 64-byte
// aligned, so that every offset that is a multiple of N is aligned too.
template <typename T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack {
  T at[N];
};

// What one access moves.
template <std::size_t kBytes>
struct AccessType {
  using Type = uint4;
};
template <>
struct AccessType<8> {
  using Type = uint64_t;
};
template <>
struct AccessType<4> {
  using Type = uint32_t;
};
template <>
struct AccessType<2> {
  using Type = uint16_t;
};
template <>
struct AccessType<1> {
  using Type = uint8_t;
};

template <typename Access>
__device__ void store_whole(Access* to, const Access& value) {
  *to = value;
}

// Copies a pack between memory and registers. Left to itself the compiler splits the copy into elements where the pack
// was made element by element.
template <int N, typename T>
__device__ Pack<T, N> load_pack(const T* from) {
  using Access = typename AccessType<alignof(Pack<T, N>)>::Type;
  Pack<T, N> pack;
#pragma unroll
  for (std::size_t i = 0; i < sizeof(pack) / sizeof(Access); ++i) {
    const Access part = reinterpret_cast<const Access*>(from)[i];
    std::memcpy(reinterpret_cast<char*>(&pack) + i * sizeof part, &part, sizeof part);
  }
  return pack;
}

template <int N, typename T>
__device__ void store_pack(T* to, const Pack<T, N>& pack) {
  using Access = typename AccessType<alignof(Pack<T, N>)>::Type;
#pragma unroll
  for (std::size_t i = 0; i < sizeof(pack) / sizeof(Access); ++i) {
    Access part;
    std::memcpy(&part, reinterpret_cast<const char*>(&pack) + i * sizeof part, sizeof part);
    store_whole(reinterpret_cast<Access*>(to) + i, part);
  }
}

// How many elements of the smallest of the types make 16 bytes, but 8 at most.
template <typename... T>
constexpr int pack_size() {
  std::size_t smallest = 8;
  ((smallest = sizeof(T) < smallest ? sizeof(T) : smallest), ...);
  return smallest < 2 ? 8 : static_cast<int>(16 / smallest);
}

}  // namespace onward
