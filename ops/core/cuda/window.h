#pragma once
// Sliding windows on the GPU. A kernel has no tables in device memory, so the window travels as numbers: up to three
// spatial dimensions, fewer with leading ones.
#include "ops/core/cuda/columns.h"
#include "ops/core/kernel.h"
#include "ops/core/window.h"

namespace onward {

inline constexpr int kWindowRank = 3;
// Blocks of a pooling kernel that shall fit a multiprocessor: few, because for more the assembler spills registers.
inline constexpr int kPoolBlocks = 2;

// Whether the operands of a pooling kernel have few enough dimensions, and pixels that 32 bits count.
inline bool fits_device_window(const KernelSpec& spec) {
  constexpr int64_t kMostPixels = int64_t{1} << 31;
  return spec.inputs[0].shape.size() <= 2 + kWindowRank && Columns(spec.inputs[0].shape).rows < kMostPixels &&
         Columns(spec.outputs[0].shape).rows < kMostPixels;
}

struct DeviceWindow {
  int input[kWindowRank], output[kWindowRank], kernel[kWindowRank];
  int stride[kWindowRank], dilation[kWindowRank], pad[kWindowRank];
  int padded_end[kWindowRank];  // first position behind the end padding

  explicit DeviceWindow(const Window& window) {
    for (int i = 0; i < kWindowRank; ++i) {
      input[i] = output[i] = kernel[i] = stride[i] = dilation[i] = padded_end[i] = 1;
      pad[i] = 0;
    }
    const auto missing = static_cast<int>(kWindowRank - window.input.size());
    for (std::size_t i = 0; i < window.input.size(); ++i) {
      const int to = missing + static_cast<int>(i);
      input[to] = static_cast<int>(window.input[i]);
      output[to] = static_cast<int>(window.output[i]);
      kernel[to] = static_cast<int>(window.kernel[i]);
      stride[to] = static_cast<int>(window.strides[i]);
      dilation[to] = static_cast<int>(window.dilations[i]);
      pad[to] = static_cast<int>(window.pads_begin[i]);
      padded_end[to] = input[to] + (window.pads_end[i] > 0 ? static_cast<int>(window.pads_end[i]) : 0);
    }
  }

  __host__ __device__ int input_count() const { return input[0] * input[1] * input[2]; }
  __host__ __device__ int output_count() const { return output[0] * output[1] * output[2]; }
  __host__ __device__ int positions() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// A place in three dimensions.
struct Place {
  int at[kWindowRank];
};

__device__ inline Place unravel(int position, const int (&shape)[kWindowRank]) {
  return {{position / (shape[1] * shape[2]), position / shape[2] % shape[1], position % shape[2]}};
}

__device__ inline int ravel(const int (&at)[kWindowRank], const int (&shape)[kWindowRank]) {
  return (at[0] * shape[1] + at[1]) * shape[2] + at[2];
}

// A pixel of a batch, taken apart in 32 bits: a division of 64 costs more than a small window.
struct Pixel {
  int64_t image;
  Place place;
};

__device__ inline Pixel pixel_at(int64_t index, const int (&shape)[kWindowRank]) {
  const uint32_t all = static_cast<uint32_t>(index), each = static_cast<uint32_t>(shape[0] * shape[1] * shape[2]);
  const uint32_t image = all / each;
  return {image, unravel(static_cast<int>(all - image * each), shape)};
}

// The input along one dimension that position k of an output's window meets; false if it lies in the padding.
__device__ inline bool input_at(const DeviceWindow& w, int dimension, int output, int k, int& input) {
  input = output * w.stride[dimension] + k * w.dilation[dimension] - w.pad[dimension];
  return static_cast<unsigned>(input) < static_cast<unsigned>(w.input[dimension]);
}

// Calls body(k, position) for the inputs that the window at an output place meets, k ascending.
template <typename Body>
__device__ void for_each_tap(const DeviceWindow& w, const Place& output, Body&& body) {
  int at[kWindowRank];
  for (int a = 0; a < w.kernel[0]; ++a) {
    if (!input_at(w, 0, output.at[0], a, at[0])) continue;
    for (int b = 0; b < w.kernel[1]; ++b) {
      if (!input_at(w, 1, output.at[1], b, at[1])) continue;
      for (int c = 0; c < w.kernel[2]; ++c) {
        if (input_at(w, 2, output.at[2], c, at[2])) body((a * w.kernel[1] + b) * w.kernel[2] + c, ravel(at, w.input));
      }
    }
  }
}

// The output along one dimension whose window has position k at `input`; false if there is none.
__device__ inline bool output_at(const DeviceWindow& w, int dimension, int input, int k, int& output) {
  const int start = input + w.pad[dimension] - k * w.dilation[dimension];
  output = start / w.stride[dimension];
  return start >= 0 && output * w.stride[dimension] == start && output < w.output[dimension];
}

// Calls body(k, output position) for the outputs that look at an input place, in ascending order of outputs.
template <typename Body>
__device__ void for_each_viewer(const DeviceWindow& w, const Place& input, Body&& body) {
  int at[kWindowRank];
  for (int a = w.kernel[0] - 1; a >= 0; --a) {
    if (!output_at(w, 0, input.at[0], a, at[0])) continue;
    for (int b = w.kernel[1] - 1; b >= 0; --b) {
      if (!output_at(w, 1, input.at[1], b, at[1])) continue;
      for (int c = w.kernel[2] - 1; c >= 0; --c) {
        if (output_at(w, 2, input.at[2], c, at[2])) body((a * w.kernel[1] + b) * w.kernel[2] + c, ravel(at, w.output));
      }
    }
  }
}

}  // namespace onward
