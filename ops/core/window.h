#pragma once
#include <vector>

#include "graph/attributes.h"
#include "graph/types.h"

namespace onward {

// A sliding window over the spatial dimensions of (N, C, spatial...): what convolution and pooling share. Every list
// has one entry per spatial dimension. Pads may be negative (they crop). With ceil_mode the last window may reach past
// the end padding, but starts inside the input or the padding before it.
struct Window {
  Shape input;
  Shape output;
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads_begin;
  Shape pads_end;

  int64_t input_count() const { return element_count(input); }
  int64_t output_count() const { return element_count(output); }
  int64_t positions() const { return element_count(kernel); }
};

// Reads strides, dilations, pads, auto_pad and ceil_mode, with ONNX's defaults, for an input of the given spatial
// shape. auto_pad SAME_UPPER, SAME_LOWER and VALID are resolved to explicit pads. Error(kModel) when the lists do not
// fit the input or the window is larger than the padded input.
Window make_window(const Attributes& attributes, const Shape& spatial, const Shape& kernel);

// The window of a pooling op over (N, C, spatial...): make_window with the attribute kernel_shape.
Window pooling_window(const Attributes& attributes, const Shape& shape);

// Dimensions of (N, C, spatial...) after the first two. Error(kModel) for a rank below 3.
Shape spatial_of(const Shape& shape);

// (N, C) of `shape` with the window's output positions.
Shape pooled_shape(const Shape& shape, const Window& window);

// Writes the window as explicit kernel_shape, strides, dilations and pads, and erases auto_pad (and ceil_mode where
// auto_pad overruled it).
void make_explicit(Attributes& attributes, const Window& window);

// What a window position meets.
inline constexpr int32_t kTapInPadding = -1;
inline constexpr int32_t kTapBeyondPadding = -2;  // only with ceil_mode

// For every output position (row-major) and window position (row-major): the input position (row-major), or one of the
// constants above. Any rank, dilation and pads: kernels need no index arithmetic of their own.
std::vector<int32_t> window_taps(const Window& window);

// The inverse of window_taps: which outputs look at an input position, for gradients that gather instead of scatter.
struct TapInverse {
  struct Entry {
    int32_t output;    // output position
    int32_t position;  // position in the window
  };
  std::vector<int32_t> begin;  // entries of input position q: [begin[q], begin[q + 1]), ascending in output
  std::vector<Entry> entries;
};
TapInverse invert_taps(const Window& window, const std::vector<int32_t>& taps);

}  // namespace onward
