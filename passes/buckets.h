#pragma once
#include <cstddef>
#include <vector>

#include "passes/pass.h"

namespace onward {

// The gradients of a graph cut into buckets: positions in graph.gradients(), which are in the order in which backward
// finishes them. A bucket holds neighbours of one element type, and never more than its cap unless a single gradient
// does; the cap is options.first_bucket_mib for the first and options.bucket_mib for all others. The cut depends on
// sizes and order of the trained parameters only: it is the same for every batch size, mode and number of replicas.
std::vector<std::vector<std::size_t>> gradient_buckets(const Graph& graph, const ProgramOptions& options);

}  // namespace onward
