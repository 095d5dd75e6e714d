#pragma once
#include "graph/graph.h"
#include "ops/core/registry.h"

namespace onward {

struct BatchSize {
  int64_t exported = 0;  // rows that the file fixes; 0: it leaves them open
  int64_t local = 0;     // rows of this program
};

// From inputs with static shapes, in the order of the nodes: brings each node into its normal form, infers its types
// and folds it if it is constant. In one sweep, because each step needs the one before for everything ahead of the
// node: the shape that a Reshape reads is often computed from the shape of an activation.
void infer_graph(Graph& graph, const BatchSize& batch, bool training, const Registry& registry);

}  // namespace onward
