#pragma once
#include "passes/pass.h"

namespace onward {

// Limits the complete gradients of a step: by their global norm (options.clip_norm), then each element by value
// (options.clip_value). The norm is taken once, over all gradients after their reduction, so that it does not depend on
// the number of replicas.
Pass clip_pass();

}  // namespace onward
