#pragma once
#include <cstdint>

namespace onward {

// How the elements of a logical (N, C, spatial...) tensor lie in memory.
enum class Layout : uint8_t {
  kRowMajor,
  kChannelsLast,  // N, spatial..., C; the same as row-major for ranks below 3
};

}  // namespace onward
