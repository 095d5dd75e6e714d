#pragma once
#include <cstddef>

#include "ops/batch_norm_lowered/row_tiles.h"

namespace onward {

// y = [relu]((x - mean) * factor + bias [+ residual]) per channel, channels-last, in fp32: the one pass over the data
// of normalisation in training and in inference. y may be x or the residual.
class NormaliseRows {
 public:
  explicit NormaliseRows(const Shape& shape) : tiles_(shape) {}

  struct Lanes {
    float *mean, *factor, *bias;
  };
  std::size_t workspace_bytes() const { return static_cast<std::size_t>(3 * tiles_.lanes_reserved()) * sizeof(float); }
  int64_t channels() const { return tiles_.channels; }
  // The caller fills the first channels() numbers of each array in the workspace before run().
  Lanes lanes(void* workspace) const;
  void run(const Lanes& lanes, const float* x, const float* residual, bool relu, float* y) const;

 private:
  RowTiles tiles_;
};

}  // namespace onward
