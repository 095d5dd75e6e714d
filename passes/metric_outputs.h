#pragma once
#include "graph/graph.h"
#include "ops/core/registry.h"

namespace onward {

// Makes the metric outputs of a program (passes/outputs.h) float64, whatever type they were computed in: counts and
// losses are added over replicas, micro-batches and steps.
void widen_metric_outputs(Graph& graph, const Registry& registry);

}  // namespace onward
