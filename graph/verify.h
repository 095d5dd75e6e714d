#pragma once
#include "graph/graph.h"

namespace onward {

// Checks the structure: every value is made before it is used, by one producer; uses and producers agree; names are
// unique; updates join values of the same type; graph outputs exist. Error(kModel) naming the node.
void verify(const Graph& graph);

}  // namespace onward
