#pragma once
#include <string>

#include "graph/graph.h"

namespace onward {

struct PrintOptions {
  bool origins = true;
  bool distributions = true;
  bool attributes = true;
};

// The graph as text, one line a node, in order:
//   %y: float32[8,16,32,32] batch-split = Conv(%x, %w, -) kernel_shape=[3,3]  # backward of conv1
// preceded by inputs, parameters, state and constants (small ones with their elements) and followed by outputs,
// gradients and updates. The comment is the node's origin, or its name when it comes from the file. Deterministic.
std::string print(const Graph& graph, const PrintOptions& options = {});

}  // namespace onward
