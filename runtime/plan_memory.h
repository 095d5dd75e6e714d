#pragma once
#include "runtime/plan_schedule.h"

namespace onward {

// Gives every arena buffer its place:
//  - an output shares the storage of an input where the op allows it in place and everybody else has read the input
//  before;
//  - the operands of one collective lie one behind another, each at the first aligned address after its predecessor's
//  end, so
//    that a kernel can run a bucket as one call (ops/collectives);
//  - storage is reused for other values where streams and events prove that all uses are over before the new ones
//  begin.
void assign_memory(PlanDraft& draft, const Schedule& schedule);

}  // namespace onward
