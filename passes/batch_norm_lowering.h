#pragma once
#include "passes/pass.h"

namespace onward {

// BatchNormalization and its gradient, synchronised or not, become statistics, (gather,) apply. Ensures "lowered".
Pass batch_norm_lowering_pass();

}  // namespace onward
