#pragma once
#include <vector>

#include "graph/graph.h"
#include "ops/core/registry.h"
#include "runtime/planner.h"

namespace onward {

// A node and what runs it.
struct ChosenKernel {
  const Node* node = nullptr;
  const OpDef* op = nullptr;
  const KernelDef* kernel = nullptr;  // nullptr: a view, nothing runs
  KernelSpec spec;                    // layouts not decided yet
};

// One entry per node, in order. A node all of whose outputs are views of inputs needs no kernel. Error(kModel) that
// lists every node without a kernel.
std::vector<ChosenKernel> choose_kernels(const Graph& graph, const Registry& registry, const PlannerOptions& options);

}  // namespace onward
