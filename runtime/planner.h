#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/core/registry.h"
#include "runtime/plan.h"

namespace onward {

struct PlannerOptions {
  Backend backend = Backend::kCpu;
  int threads = 1;  // of the compute stream
  int rank = 0;     // global, of the replica
  int replicas = 1;
  bool winograd = false;               // allow algorithms that change rounding, see KernelSpec
  std::set<std::string> winograd_for;  // allow them for these keys only, see autotune.h
  int max_priority = 1 << 30;          // 0: plain reference kernels only
};

// A plan with what it takes to run it. `kernels` has one entry per step, empty for conversions and copies. Belongs to
// one replica: kernels may keep scratch of their own.
struct PreparedPlan {
  Plan plan;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<HostTensor> constants;  // as Plan::constants, bytes in the buffer's layout
};

// Chooses kernels, layouts, order, streams, events and memory for a graph with static shapes, and proves the result
// with the plan verifier. Call it on a thread whose team has options.threads threads (prepare_compute_thread): kernels
// may look at it.
//
// Errors: Error(kModel) that lists every node without a kernel, with op, name, domain, opset and type; for shapes that
// are not static; for collectives whose order contradicts the data flow.
PreparedPlan make_plan(const Graph& graph, const Registry& registry, const PlannerOptions& options = {});

}  // namespace onward
