#pragma once
#include "runtime/plan_draft.h"

namespace onward {

// Decides for every updated state how its new value gets into the store: written there by the producing kernel, where
// an in-place pair of the op joins the two and everybody else has read the old value before; otherwise by a copy at the
// end.
void plan_updates(PlanDraft& draft);

}  // namespace onward
