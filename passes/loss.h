#pragma once
#include "passes/pass.h"

namespace onward {

// Attaches the loss and the metrics. Training programs get the outputs
//   "loss"                          scalar of the loss's own type, partial: its sum over replicas is the loss of the global batch;
//   "correct_top1", "correct_top5"  int64 scalars, partial (only when there are class labels and scores).
// Evaluation programs keep the model's outputs and get the same names, all float64: the loss is summed over rows. Sets
// context.loss. With options.gradient_of the output of that name takes the place of "loss". Ensures "loss".
Pass loss_pass();

}  // namespace onward
