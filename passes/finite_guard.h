#pragma once
#include "passes/pass.h"

namespace onward {

// One flag says whether all complete gradients of the step are finite. It reads reduced gradients, so that all replicas
// decide alike. With NonFinite::kReport it is an output and nothing more: updates stay in place, and the trainer stops.
// With kSkip the running statistics take their new values only if it is set, and the optimizer pass hands it to its
// steps.
//
// A program that only accumulates has no complete gradient: the accumulated one carries what is not finite to the last
// micro-batch. With kSkip each running statistic is kept as it was unless all new ones of the micro-batch are finite.
Pass finite_guard_pass();

// The flag of the program, bool; nullptr if it has none.
Value* finite_flag(const Graph& graph);

}  // namespace onward
