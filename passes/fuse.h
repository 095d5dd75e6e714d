#pragma once
#include "passes/pass.h"

namespace onward {

// Joins the passes over memory around a lowered batch norm; nothing changes beyond rounding.
//
// Forward: the Add of a residual and the Relu that follow BatchNormApply become part of it.
//
// Backward: ReluGrad, and before it the Add that sums the gradients of two users, become part of BatchNormGradReduce.
// The mask is recomputed from X when nothing was added before the Relu, else read off its result Y. When others read
// the masked gradient too (the other branch of the residual, its batch norm), BatchNormGradReduce writes it, once, as
// its output G.
Pass fuse_pass();

}  // namespace onward
