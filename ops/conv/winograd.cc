#include "ops/conv/winograd.h"

#include "ops/core/parallel.h"
#include "ops/core/simd.h"

namespace onward::winograd {
namespace {

// Sixteen channels at once. Buffers are 64-byte aligned and channels a multiple of 16, hence so is every element read.
typedef float Lanes __attribute__((vector_size(sizeof(float) * kLanes), may_alias));

#define ONWARD_INLINE [[gnu::always_inline]] inline

// The one-dimensional transforms, from elements `step` apart to elements `to_step` apart. Applied to the rows and then
// to the columns of a tile they give the two-dimensional ones. Common terms are computed once.
ONWARD_INLINE void multiply_bt(const Lanes* d, int step, Lanes* to, int to_step) {
  const Lanes p = d[4 * step] - 4.0f * d[2 * step], q = d[3 * step] - 4.0f * d[1 * step];
  const Lanes r = d[4 * step] - d[2 * step], s = 2.0f * (d[3 * step] - d[1 * step]);
  to[0] = 4.0f * d[0] - 5.0f * d[2 * step] + d[4 * step];
  to[1 * to_step] = p + q;
  to[2 * to_step] = p - q;
  to[3 * to_step] = r + s;
  to[4 * to_step] = r - s;
  to[5 * to_step] = 4.0f * d[1 * step] - 5.0f * d[3 * step] + d[5 * step];
}

ONWARD_INLINE void multiply_at(const Lanes* m, int step, Lanes* to, int to_step) {
  const Lanes p = m[1 * step] + m[2 * step], q = m[1 * step] - m[2 * step];
  const Lanes r = m[3 * step] + m[4 * step], s = m[3 * step] - m[4 * step];
  to[0] = m[0] + p + r;
  to[1 * to_step] = q + 2.0f * s;
  to[2 * to_step] = p + 4.0f * r;
  to[3 * to_step] = q + 8.0f * s + m[5 * step];
}

ONWARD_INLINE void multiply_a(const Lanes* d, int step, Lanes* to, int to_step) {
  const Lanes p = d[0] + d[2 * step], q = d[1 * step] + d[3 * step];
  const Lanes r = d[0] + 4.0f * d[2 * step], s = 2.0f * d[1 * step] + 8.0f * d[3 * step];
  to[0] = d[0];
  to[1 * to_step] = p + q;
  to[2 * to_step] = p - q;
  to[3 * to_step] = r + s;
  to[4 * to_step] = r - s;
  to[5 * to_step] = d[3 * step];
}

ONWARD_INLINE void multiply_g(const Lanes* w, int step, Lanes* to, int to_step) {
  const Lanes p = (w[0] + w[2 * step]) * (-1 / 6.0f), q = w[1 * step] * (-1 / 6.0f);
  const Lanes r = w[0] * (1 / 24.0f) + w[2 * step] * (1 / 6.0f), s = w[1 * step] * (1 / 12.0f);
  to[0] = w[0] * 0.25f;
  to[1 * to_step] = p + q;
  to[2 * to_step] = p - q;
  to[3 * to_step] = r + s;
  to[4 * to_step] = r - s;
  to[5 * to_step] = w[2 * step];
}

ONWARD_INLINE void multiply_gt(const Lanes* m, int step, Lanes* to, int to_step) {
  const Lanes p = (m[1 * step] + m[2 * step]) * (-1 / 6.0f), q = (m[1 * step] - m[2 * step]) * (-1 / 6.0f);
  const Lanes r = m[3 * step] + m[4 * step], s = m[3 * step] - m[4 * step];
  to[0] = m[0] * 0.25f + p + r * (1 / 24.0f);
  to[1 * to_step] = q + s * (1 / 12.0f);
  to[2 * to_step] = p + r * (1 / 6.0f) + m[5 * step];
}

// Where a tile lies.
struct Place {
  int64_t image, row, column;  // of the tile's first output pixel
};

ONWARD_INLINE Place place_of(const Tiles& tiles, int64_t tile) {
  const int64_t per_image = tiles.rows() * tiles.columns();
  return {tile / per_image, tile % per_image / tiles.columns() * kTile, tile % tiles.columns() * kTile};
}

// Reads `size` x `size` pixels from (row, column) on, zeros outside of the image.
template <int kSize>
ONWARD_INLINE void read_tile(const Tiles& tiles, const float* image, int64_t row, int64_t column, int64_t channel,
                             Lanes* tile) {
  const bool inside = row >= 0 && column >= 0 && row + kSize <= tiles.height && column + kSize <= tiles.width;
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      const int64_t y = row + i, x = column + j;
      const bool exists = inside || (y >= 0 && y < tiles.height && x >= 0 && x < tiles.width);
      tile[i * kSize + j] =
          exists ? *reinterpret_cast<const Lanes*>(image + (y * tiles.width + x) * tiles.channels + channel) : Lanes{};
    }
  }
}

ONWARD_INLINE void write_points(const Lanes* points, int64_t tiles, int64_t channels, float* to) {
  for (int64_t k = 0; k < kPoints; ++k) *reinterpret_cast<Lanes*>(to + k * tiles * channels) = points[k];
}

ONWARD_SIMD void input_tiles(const Tiles& tiles, const float* x, float* v, int64_t begin, int64_t end) {
  const int64_t count = tiles.count();
  for (int64_t t = begin; t < end; ++t) {
    const Place place = place_of(tiles, t);
    const float* image = x + place.image * tiles.height * tiles.width * tiles.channels;
    for (int64_t c = 0; c < tiles.channels; c += kLanes) {
      Lanes tile[kPoints], half[kPoints];
      read_tile<6>(tiles, image, place.row - 1, place.column - 1, c, tile);
      for (int i = 0; i < 6; ++i) multiply_bt(tile + 6 * i, 1, half + 6 * i, 1);
      for (int j = 0; j < 6; ++j) multiply_bt(half + j, 6, tile + j, 6);
      write_points(tile, count, tiles.channels, v + t * tiles.channels + c);
    }
  }
}

ONWARD_SIMD void gradient_tiles(const Tiles& tiles, const float* dy, float* v, int64_t begin, int64_t end) {
  const int64_t count = tiles.count();
  for (int64_t t = begin; t < end; ++t) {
    const Place place = place_of(tiles, t);
    const float* image = dy + place.image * tiles.height * tiles.width * tiles.channels;
    for (int64_t c = 0; c < tiles.channels; c += kLanes) {
      Lanes tile[16], half[24], points[kPoints];
      read_tile<4>(tiles, image, place.row, place.column, c, tile);
      for (int i = 0; i < 4; ++i) multiply_a(tile + 4 * i, 1, half + 6 * i, 1);
      for (int j = 0; j < 6; ++j) multiply_a(half + j, 6, points + j, 6);
      write_points(points, count, tiles.channels, v + t * tiles.channels + c);
    }
  }
}

ONWARD_SIMD void output_tiles(const Tiles& tiles, const float* m, const float* bias, float* y, int64_t begin,
                              int64_t end) {
  const int64_t count = tiles.count();
  for (int64_t t = begin; t < end; ++t) {
    const Place place = place_of(tiles, t);
    float* image = y + place.image * tiles.height * tiles.width * tiles.channels;
    for (int64_t c = 0; c < tiles.channels; c += kLanes) {
      Lanes points[kPoints], half[24], tile[16];
      for (int64_t k = 0; k < kPoints; ++k)
        points[k] = *reinterpret_cast<const Lanes*>(m + (k * count + t) * tiles.channels + c);
      for (int i = 0; i < 6; ++i) multiply_at(points + 6 * i, 1, half + 4 * i, 1);
      for (int j = 0; j < 4; ++j) multiply_at(half + j, 4, tile + j, 4);
      for (int64_t i = 0; i < kTile && place.row + i < tiles.height; ++i) {
        for (int64_t j = 0; j < kTile && place.column + j < tiles.width; ++j) {
          const int64_t pixel = (place.row + i) * tiles.width + place.column + j;
          Lanes& to = *reinterpret_cast<Lanes*>(image + pixel * tiles.channels + c);
          to = tile[4 * i + j];
          if (bias) to += *reinterpret_cast<const Lanes*>(bias + c);
        }
      }
    }
  }
}

ONWARD_INLINE void weight_points(const Lanes* w, Lanes* points) {
  Lanes half[18];
  for (int i = 0; i < 3; ++i) multiply_g(w + 3 * i, 1, half + 6 * i, 1);
  for (int j = 0; j < 6; ++j) multiply_g(half + j, 6, points + j, 6);
}

// Sixteen 3x3 filters that are `step` elements apart.
ONWARD_INLINE void read_filters(const float* w, int64_t step, bool flipped, Lanes* filters) {
  for (int k = 0; k < 9; ++k) {
    float lanes[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = w[lane * step + (flipped ? 8 - k : k)];
    __builtin_memcpy(&filters[k], lanes, sizeof(lanes));
  }
}

// Input channels [begin, end).
ONWARD_SIMD void weights(const float* w, int64_t out, int64_t in, float* u, int64_t begin, int64_t end) {
  for (int64_t c = begin; c < end; ++c) {
    for (int64_t o = 0; o < out; o += kLanes) {
      Lanes filters[9], points[kPoints];
      read_filters(w + (o * in + c) * 9, in * 9, false, filters);
      weight_points(filters, points);
      write_points(points, in, out, u + c * out + o);
    }
  }
}

// Output channels [begin, end).
ONWARD_SIMD void flipped_weights(const float* w, int64_t out, int64_t in, float* u, int64_t begin, int64_t end) {
  for (int64_t o = begin; o < end; ++o) {
    for (int64_t c = 0; c < in; c += kLanes) {
      Lanes filters[9], points[kPoints];
      read_filters(w + (o * in + c) * 9, 9, true, filters);
      weight_points(filters, points);
      write_points(points, out, in, u + o * in + c);
    }
  }
}

// Output channels [begin, end).
ONWARD_SIMD void inverse_weights(const float* p, int64_t out, int64_t in, float* dw, int64_t begin, int64_t end) {
  for (int64_t o = begin; o < end; ++o) {
    for (int64_t c = 0; c < in; c += kLanes) {
      Lanes points[kPoints], half[18], filters[9];
      for (int64_t k = 0; k < kPoints; ++k) points[k] = *reinterpret_cast<const Lanes*>(p + (k * out + o) * in + c);
      for (int i = 0; i < 6; ++i) multiply_gt(points + 6 * i, 1, half + 3 * i, 1);
      for (int j = 0; j < 3; ++j) multiply_gt(half + j, 3, filters + j, 3);
      float* to = dw + (o * in + c) * 9;
      for (int k = 0; k < 9; ++k) {
        for (int64_t lane = 0; lane < kLanes; ++lane) to[lane * 9 + k] = filters[k][lane];
      }
    }
  }
}

}  // namespace

void transform_input(const Tiles& tiles, const float* x, float* v) {
  parallel_for(tiles.count(), 4, [&](int64_t begin, int64_t end) { input_tiles(tiles, x, v, begin, end); });
}

void transform_gradient(const Tiles& tiles, const float* dy, float* v) {
  parallel_for(tiles.count(), 4, [&](int64_t begin, int64_t end) { gradient_tiles(tiles, dy, v, begin, end); });
}

void transform_output(const Tiles& tiles, const float* m, const float* bias, float* y) {
  parallel_for(tiles.count(), 4, [&](int64_t begin, int64_t end) { output_tiles(tiles, m, bias, y, begin, end); });
}

void transform_weights(const float* w, int64_t out, int64_t in, float* u) {
  parallel_for(in, 1, [&](int64_t begin, int64_t end) { weights(w, out, in, u, begin, end); });
}

void transform_flipped_weights(const float* w, int64_t out, int64_t in, float* u) {
  parallel_for(out, 1, [&](int64_t begin, int64_t end) { flipped_weights(w, out, in, u, begin, end); });
}

void inverse_transform_weights(const float* p, int64_t out, int64_t in, float* dw) {
  parallel_for(out, 1, [&](int64_t begin, int64_t end) { inverse_weights(p, out, in, dw, begin, end); });
}

}  // namespace onward::winograd
