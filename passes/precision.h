#pragma once
#include "passes/pass.h"

namespace onward {

// --precision fp64: every float32 value, constant, parameter, state and input is float64. Runs before shapes are
// inferred, so that the results of nodes follow. With fp32 the graph keeps the types of the file.
Pass precision_pass();

}  // namespace onward
