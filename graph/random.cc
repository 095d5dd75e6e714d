#include "graph/random.h"

#include <cmath>
#include <numbers>

namespace onward {

// Lemire's multiplication instead of a remainder: the bias is below bound / 2^64.
uint64_t RandomStream::below(uint64_t step, uint64_t index, uint64_t bound) const {
  const RandomBlock words = block(step, index);
  const uint64_t high = uint64_t{words[0]} * (bound >> 32);
  const uint64_t middle0 = uint64_t{words[0]} * (bound & 0xffffffffu);
  const uint64_t middle1 = uint64_t{words[1]} * (bound >> 32);
  const uint64_t low = uint64_t{words[1]} * (bound & 0xffffffffu);
  const uint64_t carry = (low >> 32) + (middle0 & 0xffffffffu) + (middle1 & 0xffffffffu);
  return high + (middle0 >> 32) + (middle1 >> 32) + (carry >> 32);
}

double RandomStream::normal(uint64_t step, uint64_t index) const {
  const RandomBlock words = block(step, index);
  const double radius = 1.0 - unit_double(words[0], words[1]);  // in (0, 1], so that the logarithm is finite
  const double angle = unit_double(words[2], words[3]);
  return std::sqrt(-2.0 * std::log(radius)) * std::cos(2.0 * std::numbers::pi * angle);
}

}  // namespace onward
