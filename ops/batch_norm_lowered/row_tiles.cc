#include "ops/batch_norm_lowered/row_tiles.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ops/batch_normalization/channels.h"

namespace onward {
namespace {

constexpr int64_t kVector = 16;    // fp32 numbers of the longest vectors
constexpr int64_t kWidth = 256;    // lanes aimed at
constexpr int64_t kLongRow = 128;  // rows of so many channels are long enough by themselves
constexpr int64_t kGrainNumbers = 8192;

}  // namespace

RowTiles::RowTiles(const Shape& shape) {
  const ChannelView view(shape);
  rows = view.values_per_channel();
  channels = view.channels;
  if (channels > 0 && channels < kLongRow) {
    const int64_t unit = kVector / std::gcd(channels, kVector);
    rows_per_tile = (kWidth / channels + unit - 1) / unit * unit;
  }
  width = rows_per_tile * channels;
}

int64_t RowTiles::grain_rows() const { return std::max<int64_t>(1, kGrainNumbers / std::max<int64_t>(1, channels)); }

int64_t RowTiles::parts(int threads) const {
  return std::clamp<int64_t>(size() / kGrainNumbers, 1, std::max(1, threads));
}

void RowTiles::repeat(float* lanes) const {
  for (int64_t row = 1; row < rows_per_tile; ++row) {
    std::memcpy(lanes + row * channels, lanes, static_cast<std::size_t>(channels) * sizeof(float));
  }
}

}  // namespace onward
