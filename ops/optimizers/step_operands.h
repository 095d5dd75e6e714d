#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ops/core/kernel.h"
#include "ops/core/op_def.h"

namespace onward {

// How the operands of an optimizer step are numbered. A step updates n tensors at once (attribute `count`):
//   inputs:  scalars (lr, ..., apply?), then p1..pn, g1..gn, and n of each moment
//   outputs: p'1..n, then n of each next moment
struct StepOperands {
  int scalars;  // inputs before p1; the last is `apply`
  int moments;

  static std::size_t count(const Attributes& attributes) {
    return static_cast<std::size_t>(attributes.get_int("count"));
  }
  std::size_t apply() const { return static_cast<std::size_t>(scalars) - 1; }
  std::size_t parameter(std::size_t i) const { return static_cast<std::size_t>(scalars) + i; }
  std::size_t gradient(std::size_t i, std::size_t n) const { return parameter(n + i); }
  std::size_t moment(int which, std::size_t i, std::size_t n) const {
    return parameter((2 + static_cast<std::size_t>(which)) * n + i);
  }
  std::size_t inputs(std::size_t n) const { return parameter((2 + static_cast<std::size_t>(moments)) * n); }
  std::size_t outputs(std::size_t n) const { return (1 + static_cast<std::size_t>(moments)) * n; }
};

inline constexpr StepOperands kSgdOperands{2, 0};       // lr, apply
inline constexpr StepOperands kMomentumOperands{2, 1};  // lr, apply
inline constexpr StepOperands kAdamOperands{3, 2};      // lr, step, apply

inline const OpId kSgdStep{kOnwardDomain, "SgdStep"};
inline const OpId kMomentumStep{kOnwardDomain, "MomentumStep"};
inline const OpId kAdamStep{kOnwardDomain, "AdamStep"};

}  // namespace onward
