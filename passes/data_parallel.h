#pragma once
#include "passes/pass.h"

namespace onward {

// Decides the distribution of every value and reduces the partial ones that reach an update or an output, once. It also makes
// the outputs "loss", "correct_top1" and "correct_top5" of a training program float64, for any number of replicas.
// Ensures "distributed".
Pass data_parallel_pass();

}  // namespace onward
