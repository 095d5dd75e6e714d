#pragma once
#include "graph/graph.h"

namespace onward {

// The tensor that a Constant node stands for, whichever of its attributes holds it: value, value_int, value_ints,
// value_float, value_floats. Error(kModel) for strings, sparse tensors and a node with none.
HostTensor constant_value(const Attributes& attributes);
HostTensor constant_value(const Node& node);

}  // namespace onward
