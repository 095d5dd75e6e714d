#pragma once
#include "graph/graph.h"

namespace onward {

// The key of a model's metadata that says how many nodes were folded into it.
inline constexpr const char* kFoldedBatchNormKey = "onward.folded_batch_norm";

// Folds every inference-form BatchNormalization that directly follows a convolution (and is its only reader) into the
// convolution's weight and bias, for deployment: W' = W*s, b' = (b - mean)*s + B with s = scale/sqrt(var + epsilon).
// Works on an imported graph, whose initializers are constants; weights keep their names, a convolution without bias
// gets one. Returns the number of folded nodes.
int fold_batch_norm(Graph& graph);

}  // namespace onward
