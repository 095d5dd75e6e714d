#pragma once
#include "passes/pass.h"

namespace onward {

// Limits the reduced gradients by value or by global norm.
Pass clip_pass();

}  // namespace onward
