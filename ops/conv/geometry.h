#pragma once
#include <cstdint>

#include "graph/attributes.h"
#include "ops/core/kernel.h"
#include "ops/core/window.h"

namespace onward {

inline const OpId kConv{"", "Conv"};
inline const OpId kConvGradInput{kOnwardDomain, "ConvGradInput"};
inline const OpId kConvGradWeight{kOnwardDomain, "ConvGradWeight"};

// The sizes of a convolution: x is (batch, groups * in_channels, window.input), w is (groups * out_channels,
// in_channels, window.kernel), y is (batch, groups * out_channels, window.output).
struct ConvGeometry {
  int64_t batch;
  int64_t groups;
  int64_t in_channels;   // of one group
  int64_t out_channels;  // of one group
  Window window;

  int64_t all_in_channels() const { return groups * in_channels; }
  int64_t all_out_channels() const { return groups * out_channels; }
  // Weights of one output channel.
  int64_t filter_size() const { return in_channels * window.positions(); }
  Shape output_shape() const;
  // Multiplications and additions of one pass in any of the three directions.
  double flops() const;
};

// Error(kModel) when input, weights and attributes do not fit each other.
ConvGeometry conv_geometry(const Attributes& attributes, const Shape& x, const Shape& w);

// The geometry of a node of Conv, ConvGradInput or ConvGradWeight, wherever that op keeps x and w.
ConvGeometry conv_geometry(const KernelSpec& spec);

}  // namespace onward
