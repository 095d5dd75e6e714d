#pragma once
#include "passes/pass.h"

namespace onward {

// Removes nodes and values that reach no output, update or gradient.
Pass prune_pass();

}  // namespace onward
