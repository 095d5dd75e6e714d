#pragma once
#include <array>
#include <vector>

#include "runtime/plan_draft.h"

namespace onward {

// How far each stream is: the number of its steps that are done.
using Clock = std::array<int, kStreams>;

// The order in time that streams and events guarantee.
struct Schedule {
  std::vector<int> position;  // of each step on its stream, from 1
  std::vector<Clock> start;   // what is certainly done when the step starts

  // Whether step a is certainly done before step b starts.
  bool before(const PlanDraft& draft, int a, int b) const {
    const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
    return start[y][static_cast<std::size_t>(draft.steps[x].step.stream)] >= position[x];
  }
};

// Puts the steps into an order in which collectives ascend by id and work that does not need a collective's result is
// done while it is on its way; otherwise the graph's order is kept. Error(kModel) if the ids contradict the data flow
// or one id appears twice.
void order_steps(PlanDraft& draft);

// Computes the order in time and sets waits and events of all steps anew: a wait only where a dependency crosses
// streams and is not implied by others.
Schedule schedule(PlanDraft& draft);

}  // namespace onward
