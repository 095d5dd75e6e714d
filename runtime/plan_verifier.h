#pragma once
#include <string>
#include <vector>

#include "runtime/plan.h"

namespace onward {

// What is wrong with a plan, one sentence each, naming the steps; empty for a plan that is right. Vector clocks over
// the steps prove that
//  - no step reads bytes while another may write them, or writes while another may read or write;
//  - every read finds the content that it expects: the bytes were not reused or overwritten, on one stream or on two;
//  - outputs and updated state hold what they should at the end;
//  - waits refer to events recorded earlier, inputs and constants are never written, collectives run on one stream in
//    ascending order, buffers are aligned and inside the arena.
// Takes time in proportion to the steps and the buffers they touch: milliseconds.
std::vector<std::string> find_plan_violations(const Plan& plan);

// Error(kModel) with all violations, if there are any.
void verify_plan(const Plan& plan);

// All replicas must run the same collectives, with the same sizes and types, in the same order. Error(kModel) naming
// the first difference.
void verify_collectives_agree(const std::vector<const Plan*>& plans);

}  // namespace onward
