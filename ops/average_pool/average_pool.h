#pragma once
#include <vector>

#include "graph/graph.h"
#include "ops/core/window.h"

namespace onward {

inline const OpId kAveragePool{"", "AveragePool"};
inline const OpId kAveragePoolGrad{kOnwardDomain, "AveragePoolGrad"};

// For every output position what its sum is divided by: the window positions that meet an input, with count_include_pad
// also those in the padding, never those beyond it (ceil_mode). A window that meets nothing has the average 0:
// divisor 1.
std::vector<double> average_divisors(const Attributes& attributes, const Window& window,
                                     const std::vector<int32_t>& taps);

}  // namespace onward
