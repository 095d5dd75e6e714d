// From a graph with static shapes to a plan, stage by stage. Every stage is a file of its own.
#include "runtime/planner.h"

#include "runtime/choose_kernels.h"
#include "runtime/plan_draft.h"
#include "runtime/plan_layouts.h"
#include "runtime/plan_memory.h"
#include "runtime/plan_schedule.h"
#include "runtime/plan_updates.h"
#include "runtime/plan_verifier.h"

namespace onward {

PreparedPlan make_plan(const Graph& graph, const Registry& registry, const PlannerOptions& options) {
  std::vector<ChosenKernel> kernels = choose_kernels(graph, registry, options);
  const LayoutChoice layouts = choose_layouts(graph, kernels);
  PlanDraft draft = draft_steps(graph, std::move(kernels), layouts);
  order_steps(draft);
  plan_updates(draft);
  assign_memory(draft, schedule(draft));

  PreparedPlan prepared{.plan = std::move(draft.plan), .constants = std::move(draft.constants)};
  prepared.plan.backend = options.backend;
  prepared.plan.rank = options.rank;
  prepared.plan.replicas = options.replicas;
  prepared.plan.threads = options.threads;
  for (DraftStep& step : draft.steps) {
    prepared.plan.steps.push_back(std::move(step.step));
    prepared.kernels.push_back(std::move(step.kernel));
  }
  verify_plan(prepared.plan);
  return prepared;
}

}  // namespace onward
