#pragma once
#include "passes/pass.h"

namespace onward {

// Identity nodes go away, except where the result is an output of the graph, which keeps its name.
Pass remove_identities_pass();

}  // namespace onward
