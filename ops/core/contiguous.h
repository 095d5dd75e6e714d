#pragma once
#include <cstddef>
#include <cstdint>

#include "ops/core/kernel.h"

namespace onward {

// How many elements operands of one type span, padding included, if they lie one behind another in the way in which plans lay
// out the operands of a collective: each at the first 64-byte aligned address after its predecessor's end. Then one call over
// [pointers[0], pointers[0] + span) does for all of them; what is in the padding does not matter, and there is as much of it
// on every replica. 0 if they do not lie so, or if an operand is absent or empty.
inline int64_t contiguous_span(const std::vector<Operand>& operands, void* const* pointers) {
  constexpr std::size_t kAlign = 64;
  if (operands.empty()) return 0;
  const auto* first = static_cast<const std::byte*>(pointers[0]);
  const std::byte* next = first;
  const std::byte* end = first;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::size_t bytes = operands[i].present ? operands[i].bytes() : 0;
    if (bytes == 0 || operands[i].dtype != operands[0].dtype || pointers[i] != next) return 0;
    end = next + bytes;
    next += (bytes + kAlign - 1) / kAlign * kAlign;
  }
  return static_cast<int64_t>(static_cast<std::size_t>(end - first) / dtype_size(operands[0].dtype));
}

}  // namespace onward
