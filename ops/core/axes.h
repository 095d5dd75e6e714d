#pragma once
#include <cstdint>
#include <vector>

#include "graph/types.h"

namespace onward {

// An axis of a tensor of this rank as 0 ... rank-1; negative ones count from the end. `end_allowed` also takes `rank`.
// Error(kModel) outside.
int64_t resolve_axis(int64_t axis, std::size_t rank, bool end_allowed = false);
// Ascending, non-negative. Error(kModel) outside or twice.
std::vector<int64_t> resolve_axes(const std::vector<int64_t>& axes, std::size_t rank);

// A tensor as [outer, axis, inner]: what lies before, at and behind one axis.
struct AxisSplit {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
};
AxisSplit split_at(const Shape& shape, std::size_t axis);

}  // namespace onward
