#pragma once
#include "graph/graph.h"

namespace onward {

// The stored value that `value` is: itself, or what a chain of Identity nodes starts from. Exporters write such chains
// for tensors that several nodes share.
Value* state_source(Value* value);

}  // namespace onward
