#pragma once
#include <cstdint>

#include "graph/types.h"

namespace onward {

// A channels-last tensor is a run of rows of C numbers. Loops over one row are too short when C is small, so the
// kernels take tiles of several rows at a time: `width` numbers, about 256 and a multiple of the vector length where
// that is possible. What they know per channel is repeated over the width ("lanes"): lane i belongs to channel i % C.
struct RowTiles {
  int64_t rows = 0;
  int64_t channels = 1;
  int64_t rows_per_tile = 1;
  int64_t width = 1;  // rows_per_tile * channels

  explicit RowTiles(const Shape& shape);  // (N, C, spatial...)

  int64_t size() const { return rows * channels; }
  // A thread's share is not cut smaller than this many rows.
  int64_t grain_rows() const;
  // The number of equal ranges of rows in which sums are made: a function of the shape and `threads` only.
  int64_t parts(int threads) const;
  // Numbers to reserve for one array of lanes: whole cache lines, an odd number of them, so that arrays side by side do
  // not fall on the same addresses modulo the page size.
  int64_t lanes_reserved() const { return ((width + 15) / 16 | 1) * 16; }
  int64_t channels_reserved() const { return (channels + 15) / 16 * 16; }
  // Repeats lanes[0, channels) over the width.
  void repeat(float* lanes) const;
};

}  // namespace onward
