#pragma once
#include "passes/pass.h"

namespace onward {

// Turns the reduced gradients into optimizer steps and updates. Ensures "optimizer".
Pass optimizer_pass();

}  // namespace onward
