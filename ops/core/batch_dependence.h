#pragma once
#include "graph/graph.h"

namespace onward {

// Whether the value is computed from a batch: from an input or a label of the graph. Constants, parameters, state and
// scalars are not.
bool depends_on_batch(const Value& value);

}  // namespace onward
