#pragma once
#include "ops/core/registry.h"

namespace onward {

// The CPU kernels of onward::ReduceExtremumGrad.
void add_extremum_grad_kernels(Registry& registry);

}  // namespace onward
