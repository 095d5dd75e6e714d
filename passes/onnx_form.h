#pragma once
#include "graph/graph.h"

namespace onward {

// Rewrites the standard nodes of a program from the normal form of this program, in which lists and bounds are
// attributes, to the form of ONNX in the declared opset, in which they are inputs. The opset becomes at least 17: what
// a program adds to the nodes of the file needs one that is not much older. A node with outputs that ONNX does not have
// moves to this program's domain.
void to_onnx_form(Graph& graph);

}  // namespace onward
