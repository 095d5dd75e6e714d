#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/core/axes.h"
#include "ops/core/kernel.h"
#include "ops/core/parallel.h"

namespace onward {

// The tensor cut at the attribute `axis`: outer * inner lines of `axis` elements, `inner` apart.
inline AxisSplit split_along_axis(const KernelSpec& spec) {
  const Shape& shape = spec.inputs[0].shape;
  const int64_t axis = shape.empty() ? 0 : resolve_axis(spec.attributes.get_int("axis", -1), shape.size());
  return split_at(shape, static_cast<std::size_t>(axis));
}

// Calls line(offset, length, stride) for every line of a tensor along the attribute `axis`, on the calling thread's
// team.
template <typename Line>
void for_each_line(const KernelSpec& spec, Line&& line) {
  constexpr int64_t kGrain = 4096;
  const AxisSplit split = split_along_axis(spec);
  parallel_for(split.outer * split.inner, kGrain / std::max<int64_t>(split.axis, 1) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   line(i / split.inner * split.axis * split.inner + i % split.inner, split.axis, split.inner);
                 }
               });
}

// The largest element of a line, and sum exp(x - largest).
struct LineSum {
  double largest;
  double sum;
};

template <typename T>
LineSum exponential_sum(const T* x, int64_t length, int64_t stride) {
  LineSum result{-std::numeric_limits<double>::infinity(), 0};
  for (int64_t i = 0; i < length; ++i) result.largest = std::max(result.largest, static_cast<double>(x[i * stride]));
  for (int64_t i = 0; i < length; ++i) result.sum += std::exp(static_cast<double>(x[i * stride]) - result.largest);
  return result;
}

}  // namespace onward
