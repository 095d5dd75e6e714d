#include "ops/matmul/geometry.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace onward {
namespace {

// Offsets of an operand's matrices for every item of the broadcast batch.
std::vector<int64_t> offsets(const Shape& own, const Shape& batch, int64_t matrix) {
  std::vector<int64_t> list{0};
  int64_t size = 1;
  for (const int64_t d : batch) size *= d;
  list.assign(static_cast<std::size_t>(size), 0);
  for (int64_t item = 0; item < size; ++item) {
    int64_t rest = item, step = matrix;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::size_t from_end = batch.size() - 1 - i;
      const int64_t index = rest % batch[from_end];
      rest /= batch[from_end];
      if (i >= own.size()) continue;
      const int64_t extent = own[own.size() - 1 - i];
      if (extent != 1) list[static_cast<std::size_t>(item)] += index * step;
      step *= extent;
    }
  }
  return list;
}

}  // namespace

MatMulGeometry matmul_geometry(const Shape& a, const Shape& b) {
  const auto fail = [&] {
    throw Error(ErrorKind::kModel, fmt::format("expected tensors that can be multiplied as matrices, found {} and {}",
                                               to_string(a), to_string(b)));
  };
  if (a.empty() || b.empty()) fail();
  Shape left = a, right = b;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  MatMulGeometry g{.m = left[left.size() - 2], .n = right.back(), .k = left.back()};
  if (right[right.size() - 2] != g.k) fail();
  g.a_batch.assign(left.begin(), left.end() - 2);
  g.b_batch.assign(right.begin(), right.end() - 2);
  const auto batch = broadcast_shape(g.a_batch, g.b_batch);
  if (!batch) fail();
  g.batch = *batch;
  g.output = g.batch;
  if (a.size() > 1) g.output.push_back(g.m);
  if (b.size() > 1) g.output.push_back(g.n);
  g.a_offsets = offsets(g.a_batch, g.batch, g.m * g.k);
  g.b_offsets = offsets(g.b_batch, g.batch, g.k * g.n);
  return g;
}

}  // namespace onward
