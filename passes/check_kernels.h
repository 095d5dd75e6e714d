#pragma once
#include "passes/pass.h"

namespace onward {

// Error(kModel) that lists every node for which the backend has no kernel of its element type.
Pass check_kernels_pass();

}  // namespace onward
