#pragma once
#include "passes/pass.h"

namespace onward {

// Says what each tensor of the file is for. Floats that a node may pass a gradient to are parameters; running
// statistics are state; all others (integers, shapes, ratios, values of Constant nodes) are constants. Constant nodes
// become constants.
Pass roles_pass();

}  // namespace onward
