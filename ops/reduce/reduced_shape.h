#pragma once
#include <algorithm>

#include "ops/core/axes.h"
#include "ops/core/kernel.h"

namespace onward {

// A reduction as loops: neighbouring dimensions of one kind are merged, so that the innermost loop is long.
struct ReducedShape {
  struct Loop {
    int64_t size;
    int64_t stride;  // in elements of the input
  };
  std::vector<Loop> kept;     // outermost first, without the inner loop
  std::vector<Loop> reduced;  // the same
  bool inner_kept = false;    // the innermost dimension is kept
  int64_t inner = 1;          // its size

  ReducedShape(const Shape& shape, std::vector<int64_t> axes) {
    if (axes.empty()) {
      for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<int64_t>(i));
    }
    struct Dim {
      int64_t size, stride;
      bool kept;
    };
    std::vector<Dim> merged;  // innermost first
    int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const bool keep = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end();
      if (!merged.empty() && merged.back().kept == keep) {
        merged.back().size *= shape[i];
      } else {
        merged.push_back({shape[i], stride, keep});
      }
      stride *= shape[i];
    }
    if (merged.empty()) return;
    inner_kept = merged[0].kept;
    inner = merged[0].size;
    for (std::size_t i = merged.size(); i-- > 1;)
      (merged[i].kept ? kept : reduced).push_back({merged[i].size, merged[i].stride});
  }

  static int64_t count(const std::vector<Loop>& loops) {
    int64_t product = 1;
    for (const Loop& loop : loops) product *= loop.size;
    return product;
  }
  // Where the index-th combination of the loops starts in the input.
  static int64_t offset(const std::vector<Loop>& loops, int64_t index) {
    int64_t sum = 0;
    for (std::size_t i = loops.size(); i-- > 0;) {
      sum += index % loops[i].size * loops[i].stride;
      index /= loops[i].size;
    }
    return sum;
  }
};

}  // namespace onward
