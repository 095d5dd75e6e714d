#include "ops/core/axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace onward {

int64_t resolve_axis(int64_t axis, std::size_t rank, bool end_allowed) {
  const auto signed_rank = static_cast<int64_t>(rank);
  const int64_t resolved = axis < 0 ? axis + signed_rank : axis;
  if (resolved < 0 || resolved >= signed_rank + (end_allowed ? 1 : 0)) {
    throw Error(ErrorKind::kModel, fmt::format("expected an axis of a tensor of rank {}, found {}", rank, axis));
  }
  return resolved;
}

std::vector<int64_t> resolve_axes(const std::vector<int64_t>& axes, std::size_t rank) {
  std::vector<int64_t> resolved;
  for (int64_t axis : axes) resolved.push_back(resolve_axis(axis, rank));
  std::sort(resolved.begin(), resolved.end());
  if (std::adjacent_find(resolved.begin(), resolved.end()) != resolved.end()) {
    throw Error(ErrorKind::kModel, fmt::format("expected different axes, found [{}]", fmt::join(axes, ",")));
  }
  return resolved;
}

AxisSplit split_at(const Shape& shape, std::size_t axis) {
  AxisSplit split;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i < axis ? split.outer : i == axis ? split.axis : split.inner) *= shape[i];
  }
  return split;
}

}  // namespace onward
