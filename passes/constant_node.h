#pragma once
#include "graph/graph.h"

namespace onward {

// Replaces a node `Constant` by a constant of the same name. Error(kModel) for the forms that hold no tensor of
// numbers.
void replace_constant_node(Graph& graph, Node& node);

// Replaces output `index` of a node by a constant that takes over its name. The node stays.
Value& replace_by_constant(Graph& graph, Node& node, std::size_t index, HostTensor data);

}  // namespace onward
