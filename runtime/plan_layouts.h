#pragma once
#include <unordered_map>
#include <vector>

#include "runtime/choose_kernels.h"

namespace onward {

// The layouts that a plan gives to what may choose. Operands of kernels are set in their specs.
struct LayoutChoice {
  std::unordered_map<const Value*, Layout> home;  // the layout in which each produced value and each input comes to be
};

// Decides the layout of graph inputs and of kernels that take any, so that the bytes converted are the fewest (a
// minimum cut between what must be row-major and what must be channels-last), and writes the layouts into the specs.
// Parameters, state, updates and graph outputs are row-major; constants are converted beforehand and cost nothing.
// Where both layouts cost the same, row-major wins.
LayoutChoice choose_layouts(const Graph& graph, std::vector<ChosenKernel>& kernels);

}  // namespace onward
