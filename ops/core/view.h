#pragma once
#include "ops/core/kernel.h"

namespace onward {

class DistributionContext;
class GradientContext;

// What the ops share that give input 0 another shape and move no data: Reshape, Flatten, Squeeze, Unsqueeze.

// A Reshape of dy back to the shape of x.
void view_gradient(GradientContext& context);
// The distribution of the input, as long as the rows of the batch stay outermost. Error(kModel) naming the node
// otherwise.
void distribute_view(DistributionContext& context);
// A copy, for plans and constants that cannot share memory.
KernelDef view_kernel(const OpId& op);

}  // namespace onward
