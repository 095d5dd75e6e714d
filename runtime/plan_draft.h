#pragma once
#include <memory>
#include <vector>

#include "ops/core/op_def.h"
#include "runtime/plan.h"
#include "runtime/plan_layouts.h"

namespace onward {

// A step on its way to the plan.
struct DraftStep {
  PlanStep step;
  std::unique_ptr<Kernel> kernel;
  std::vector<InPlacePair> in_place;  // positions in step.inputs and step.outputs that may share memory
  std::vector<int> after;             // earlier steps that must be done, besides the producers of inputs
};

// A state's next value.
struct DraftUpdate {
  int stored = -1;
  int source = -1;  // buffer that holds the value, row-major
  bool in_place = false;
};

// A plan under construction. What the stages of the planner fill in:
//   draft_steps      steps in the graph's order, buffers with layouts and contents, conversions
//   order_steps      the order of collectives
//   plan_updates     which states are written in place, copies for the others
//   schedule         waits and events
//   assign_memory    shared storage and offsets
struct PlanDraft {
  Plan plan;  // all but the steps
  std::vector<DraftStep> steps;
  std::vector<HostTensor> constants;
  std::vector<DraftUpdate> updates;
  int contents = 0;  // numbers given so far
  int storages = 0;

  PlanBuffer& buffer(int index) { return plan.buffers[static_cast<std::size_t>(index)]; }
  const PlanBuffer& buffer(int index) const { return plan.buffers[static_cast<std::size_t>(index)]; }
  int add_buffer(PlanBuffer buffer);
  // A buffer of the arena with storage and content of its own.
  int add_arena_buffer(const std::string& value, DType dtype, const Shape& shape, Layout layout);
};

// Turns every node into a step (views into shared buffers), with layout conversions where a consumer wants another
// layout.
PlanDraft draft_steps(const Graph& graph, std::vector<ChosenKernel> kernels, const LayoutChoice& layouts);

}  // namespace onward
