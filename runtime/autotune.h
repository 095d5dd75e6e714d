#pragma once
#include <map>
#include <set>
#include <string>

#include "graph/graph.h"
#include "ops/core/registry.h"
#include "runtime/planner.h"

namespace onward {

// Every configuration of the graph that has a Winograd kernel besides the direct one, once each, by its key. A key
// names the op and the shapes that it reads, without the batch, as in "Conv:64x32x32:64x64x3x3": one choice serves
// every batch size, and evaluation as well as training.
std::map<std::string, KernelSpec> winograd_choices(const Graph& graph, const Registry& registry,
                                                   const PlannerOptions& options);

// Measures these configurations with options.threads threads and returns the keys of those that Winograd makes faster
// (PlannerOptions::winograd_for). The result depends on the machine's timing: who wants the bits of a run again keeps
// it.
std::set<std::string> autotune(const Graph& graph, const Registry& registry, const PlannerOptions& options);

// Whether the kernel for the spec is among options.winograd_for.
bool prefers_winograd(const KernelSpec& spec, const Registry& registry, const PlannerOptions& options);

}  // namespace onward
