// A change of layout is a transposition of every sample's matrix of channels by positions, in tiles through shared
// memory, so that both sides are read and written along their rows.
#include <algorithm>
#include <string>
#include <utility>

#include "graph/error.h"
#include "ops/core/cuda/convert_layout.h"
#include "ops/core/cuda/pointwise.h"
#include "ops/core/layout.h"

namespace onward {
namespace {

constexpr int kTile = 32;
constexpr int kTileRows = 8;  // of threads; each moves kTile / kTileRows elements

// target[b][c][r] = source[b][r][c] for rows r and columns c.
template <typename T>
__global__ void __launch_bounds__(kTile* kTileRows)
    transpose_kernel(const T* source, T* target, int64_t batch, int64_t rows, int64_t columns) {
  ONWARD_SHARED(T, tile, kTile * (kTile + 1));  // the extra column keeps a column's elements in different banks
  const int64_t left = int64_t{blockIdx.x} * kTile, x = threadIdx.x;
  const int64_t tiles_down = (rows + kTile - 1) / kTile;
  for (int64_t task = blockIdx.y; task < batch * tiles_down; task += gridDim.y) {
    const int64_t top = task % tiles_down * kTile, matrix = task / tiles_down * rows * columns;
    for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
      if (top + y < rows && left + x < columns) {
        tile[y * (kTile + 1) + x] = source[matrix + (top + y) * columns + left + x];
      }
    }
    __syncthreads();
    for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
      if (left + y < columns && top + x < rows) {
        target[matrix + (left + y) * rows + top + x] = tile[x * (kTile + 1) + y];
      }
    }
    __syncthreads();
  }
}

struct Same {
  template <typename T>
  __device__ T operator()(T x) const {
    return x;
  }
};

template <typename T>
void convert(const void* source, Layout from, void* target, Layout to, const Shape& shape, void* stream) {
  const auto* in = static_cast<const T*>(source);
  auto* out = static_cast<T*>(target);
  if (layouts_agree(shape, from, to)) {
    pointwise(element_count(shape), stream, Same{}, out, in);
    return;
  }
  int64_t rows = shape[1], columns = element_count(Shape(shape.begin() + 2, shape.end()));
  if (from == Layout::kChannelsLast) std::swap(rows, columns);
  const int64_t across = (columns + kTile - 1) / kTile, down = shape[0] * ((rows + kTile - 1) / kTile);
  constexpr int64_t kMostDown = 65535;  // of a grid; further tiles are a loop
  const LaunchShape blocks{
      .grid = dim3(static_cast<unsigned>(across), static_cast<unsigned>(std::min(down, kMostDown))),
      .block = dim3(kTile, kTileRows)};
  launch(transpose_kernel<T>, blocks, stream, in, out, shape[0], rows, columns);
}

}  // namespace

void convert_layout_on_device(const void* source, Layout from, void* target, Layout to, const Shape& shape,
                              std::size_t element_size, void* stream) {
  switch (element_size) {
    case 1: convert<uint8_t>(source, from, target, to, shape, stream); break;
    case 2: convert<uint16_t>(source, from, target, to, shape, stream); break;
    case 4: convert<uint32_t>(source, from, target, to, shape, stream); break;
    case 8: convert<uint64_t>(source, from, target, to, shape, stream); break;
    default:
      throw Error(ErrorKind::kModel, "expected elements of 1, 2, 4 or 8 bytes, found " + std::to_string(element_size));
  }
}

}  // namespace onward
