#pragma once
#include <limits>

#include "graph/attributes.h"

namespace onward {

// An attribute as the nearest number of the type.
template <typename T>
T within_type(double bound) {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::is_integer) {
    if (bound <= static_cast<double>(Limits::lowest())) return Limits::lowest();
    if (bound >= static_cast<double>(Limits::max())) return Limits::max();
  }
  return static_cast<T>(bound);
}

// The attributes `min` and `max` of Clip. Where there is no bound the type's own limit stands, infinite for floats, so
// that infinities pass.
template <typename T>
struct ClipBounds {
  T low, high;

  explicit ClipBounds(const Attributes& attributes) {
    using Limits = std::numeric_limits<T>;
    low = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    high = Limits::has_infinity ? Limits::infinity() : Limits::max();
    if (attributes.has("min")) low = within_type<T>(attributes.get_double("min"));
    if (attributes.has("max")) high = within_type<T>(attributes.get_double("max"));
  }
};

}  // namespace onward
