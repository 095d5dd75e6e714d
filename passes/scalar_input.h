#pragma once
#include "graph/graph.h"

namespace onward {

// The scalar input of that name (graph/scalars.h), added if the graph has none yet.
Value& scalar_input(Graph& graph, const char* name, DType dtype);

}  // namespace onward
