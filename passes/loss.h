#pragma once
#include "passes/pass.h"

namespace onward {

// Attaches the loss and the metrics. Training programs get the outputs (passes/outputs.h)
//   loss: a scalar of its own type, partial: its sum over replicas is the loss of the global batch;
//   correct_top1, correct_top5: int64 scalars, partial; only where there are class labels and scores.
// Evaluation programs keep the model's outputs and get the same ones, the loss summed over their rows. Sets
// context.loss. With options.gradient_of the output of that name takes the place of the loss. Ensures "loss".
Pass loss_pass();

}  // namespace onward
