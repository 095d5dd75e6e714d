#pragma once
#include "graph/graph.h"
#include "ops/core/registry.h"

namespace onward {

// Runs a typed node now if it reads only constants (or, for Shape and Size, a static type) and replaces its results by
// constants of the same names. Returns whether the node is gone. Parameters are never folded, nor are outputs of the
// graph or results of more than 2^20 elements.
bool fold_node(Graph& graph, Node& node, const Registry& registry);

}  // namespace onward
