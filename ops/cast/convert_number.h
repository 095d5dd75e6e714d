#pragma once
#include <limits>
#include <type_traits>

namespace onward {

// A number as Cast converts it, on the CPU and on a GPU. A float to an integer: towards zero, to the nearest bound when
// out of range, NaN to 0. To bool: whether it is not zero.
template <typename To, typename From>
constexpr To convert_number(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    constexpr To kLeast = std::numeric_limits<To>::min(), kMost = std::numeric_limits<To>::max();
    if (x != x) return 0;
    if (x <= static_cast<From>(kLeast)) return kLeast;
    if (x >= static_cast<From>(kMost)) return kMost;
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace onward
