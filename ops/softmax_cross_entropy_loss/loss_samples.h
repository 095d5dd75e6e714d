#pragma once
#include <vector>

#include "ops/core/op_def.h"

namespace onward {

// Sample cases of a loss with inputs (scores, labels, weights?): every reduction, weights, ignored labels, spatial
// labels.
std::vector<SampleCase> loss_samples(double low, double high);
// The same for its gradient: inputs (dloss, scores if `with_scores`, labels, weights?).
std::vector<SampleCase> loss_grad_samples(const std::vector<SampleCase>& forward, bool with_scores);

}  // namespace onward
