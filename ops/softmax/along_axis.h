#pragma once
#include <vector>

#include "ops/core/op_def.h"

namespace onward {

// What Softmax, LogSoftmax and their gradients share: outputs of the input's shape, each line along `axis` for itself.

void infer_along_axis(InferContext& context);
// Before opset 13 the op worked on a matrix: dimensions before `axis` (default 1) by all others. Where that differs
// from the newer meaning, a Reshape on either side makes the matrix.
void normalise_along_axis(NormaliseContext& context);
// Error(kModel) for a line along the rows of a batch that is split.
void distribute_along_axis(DistributionContext& context);
// The same for a gradient, which is linear in dy.
void distribute_grad_along_axis(DistributionContext& context);

std::vector<SampleCase> samples_along_axis();
std::vector<SampleCase> grad_samples_along_axis();

}  // namespace onward
