#pragma once
#include "passes/pass.h"

namespace onward {

// Turns the complete gradients into optimizer steps and joins every trained parameter with its next value. One node
// steps all parameters of one bucket and one group (with weight decay or without), so that the first buckets are
// stepped while the last are still reduced; where the step depends on all gradients (options.clip_norm,
// options.non_finite is kSkip), one node a group. The steps come last in the program: on the compute stream a step
// waits for its reduction, and backward must not.
//
// State of the optimizer: "<parameter>.momentum", or "<parameter>.adam_m" and "<parameter>.adam_v", zeros at first. The
// rate and the number of the step are the scalars of graph/scalars.h. Ensures "optimizer".
Pass optimizer_pass();

}  // namespace onward
