#pragma once
#include "graph/graph.h"
#include "ops/core/registry.h"

namespace onward {

// Proves that what must be added over the replicas is added exactly once. Infers all distributions anew, then rejects:
//   a missing reduction: a partial value that reaches an output, a parameter or a replicated state, or a value of one
//   replica
//                        (local, batch-split) that would be stored where all replicas must agree;
//   a double reduction: an AllReduce of a value that is not partial.
// Partial outputs pass when `partial_outputs` is set: a program that accumulates leaves them to the last one.
// Error(kModel) naming the node or value. One replica: nothing to check.
void check_reductions(Graph& graph, int replicas, const Registry& registry, bool partial_outputs);

}  // namespace onward
