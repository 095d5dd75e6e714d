#pragma once
#include <cstdint>

namespace onward::winograd {

// Winograd's minimal filtering F(4x4, 3x3) (Lavin and Gray, arXiv:1509.09308): a 3x3 convolution with stride 1 computes
// each 4x4 tile of its output from a 6x6 tile of its input by 36 multiplications per pair of channels instead of 144.
// With the matrices B, G and A of that paper:
//
//   output        Y  = A^T [ (B^T X B) . (G W G^T) ] A      "." are 36 matrix products over the channels
//   weights       dW = G^T [ (B^T X B) . (A dY A^T) ] G     36 matrix products over the tiles
//
// and the gradient of the input is the output of a convolution of dY with flipped weights. The points 0, +-1, +-2 lose
// about three bits against the direct sum.
//
// Transformed tensors have a leading dimension of 36. Channels are multiples of 16 and images channels-last; a tile
// that reaches past the image reads zeros and writes nothing there.
inline constexpr int64_t kTile = 4;
inline constexpr int64_t kPoints = 36;
inline constexpr int64_t kLanes = 16;

// A block of images as tiles.
struct Tiles {
  int64_t images, height, width, channels;

  int64_t rows() const { return (height + kTile - 1) / kTile; }
  int64_t columns() const { return (width + kTile - 1) / kTile; }
  int64_t count() const { return images * rows() * columns(); }
  int64_t transformed() const { return kPoints * count() * channels; }  // elements
};

// All run on the calling thread's team.
// B^T X B of every 6x6 tile of x, whose 3x3 windows are padded by 1: v[36][tile][channel].
void transform_input(const Tiles& tiles, const float* x, float* v);
// A dY A^T of every 4x4 tile: v[36][tile][channel].
void transform_gradient(const Tiles& tiles, const float* dy, float* v);
// A^T M A, with `bias` per channel unless it is null: y.
void transform_output(const Tiles& tiles, const float* m, const float* bias, float* y);

// G W G^T of weights w[out][in][3][3]: u[36][in][out].
void transform_weights(const float* w, int64_t out, int64_t in, float* u);
// The same of the weights flipped in both directions: u[36][out][in].
void transform_flipped_weights(const float* w, int64_t out, int64_t in, float* u);
// G^T P G of p[36][out][in]: dw[out][in][3][3].
void inverse_transform_weights(const float* p, int64_t out, int64_t in, float* dw);

}  // namespace onward::winograd
