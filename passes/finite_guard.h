#pragma once
#include "passes/pass.h"

namespace onward {

// Under --on-nan skip: one flag says whether all complete gradients of the step are finite. The running statistics take
// their new values only if it is set; the optimizer pass hands it to its steps. The flag reads reduced gradients, so
// that all replicas decide alike.
//
// A program that only accumulates has no complete gradient. There each running statistic is kept as it was unless all
// new ones of the micro-batch are finite, and the accumulated gradient carries what is not finite to the last
// micro-batch.
Pass finite_guard_pass();

// The flag of the program, bool; nullptr if it is not guarded.
Value* finite_flag(const Graph& graph);

}  // namespace onward
