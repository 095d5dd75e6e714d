#pragma once
#include "passes/pass.h"

namespace onward {

// Joins neighbouring nodes that one kernel runs. Not needed for correctness.
Pass fuse_pass();

}  // namespace onward
