#pragma once
#include <limits>
#include <memory>

#include "ops/core/kernel.h"
#include "ops/max_pool/max_pool.h"

namespace onward {

// True when `candidate` replaces `best`: larger, or not a number (the one type-independent test for it is x != x).
template <typename T>
inline bool replaces(T candidate, T best) {
  return candidate > best || candidate != candidate;
}

template <typename T>
constexpr T lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

// K<T, I> where I is the type of window positions that the node's kernel_shape asks for.
template <template <typename, typename> class K, typename T>
std::unique_ptr<Kernel> make_max_pool(const KernelSpec& spec) {
  const auto kernel_shape = spec.attributes.get_ints("kernel_shape");
  if (window_dtype(element_count(kernel_shape)) == DType::kUInt8) return std::make_unique<K<T, uint8_t>>(spec);
  return std::make_unique<K<T, int32_t>>(spec);
}

}  // namespace onward
