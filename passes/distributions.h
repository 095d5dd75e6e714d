#pragma once
#include "graph/graph.h"
#include "ops/core/registry.h"

namespace onward {

// Sets how every value relates to its copies on the other replicas: leaves by their role, unless an earlier pass
// decided (local running statistics, partial accumulators), all others by the rules of their ops. Error(kModel) naming
// the node where the rules of an op forbid what arrives, only if there is more than one replica.
void infer_distributions(Graph& graph, int replicas, const Registry& registry);

// The same for one node.
void infer_distribution(Node& node, int replicas, const Registry& registry);

}  // namespace onward
