#pragma once
#include "passes/pass.h"

namespace onward {

// Appends the gradients of the scalar context.loss->value by parameters (and inputs, if asked for). Ensures "backward".
Pass backward_pass();

}  // namespace onward
