// Statistics in one pass. Each part of the rows sums deviations from a shift close to the mean, in fp32, over a block
// of tiles; the block's moments then join those of the part in double, and the mean so far is the next block's shift.
// So no sum of raw squares is ever subtracted, and no fp32 sum gets long. Parts are joined in order.
#include <algorithm>

#include "ops/batch_norm_lowered/channels_last_kernels.h"
#include "ops/batch_norm_lowered/row_tiles.h"
#include "ops/core/parallel.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

constexpr int64_t kBlockTiles = 128;
constexpr int64_t kFirstRows = 8;  // whose average is the first shift
constexpr int64_t kLine = 16;      // fp32 numbers of a cache line
constexpr int64_t kAhead = 2048;   // numbers to prefetch ahead: one stream alone does not fill the memory's queue

// Tile after tile, in the order of memory. Taking several rows at once would save loads and stores of the sums, but
// loses more by leaving the order in which the processor prefetches.
ONWARD_SIMD void add_tiles(const float* x, int64_t count, int64_t width, const float* shift, float* sum,
                           float* square) {
  for (int64_t at = 0; at < count; at += width) {
    const int64_t end = at + width < count ? width : count - at;
    for (int64_t i = 0; i < end; i += kLine) __builtin_prefetch(x + at + kAhead + i);
    ONWARD_INDEPENDENT
    for (int64_t i = 0; i < end; ++i) {
      const float d = x[at + i] - shift[i];
      sum[i] += d;
      square[i] += d * d;
    }
  }
}

// Adds the lanes of each channel into lanes[0, channels).
ONWARD_SIMD void fold_lanes(float* lanes, int64_t channels, int64_t rows) {
  for (int64_t r = 1; r < rows; ++r) {
    const float* row = lanes + r * channels;
    ONWARD_INDEPENDENT
    for (int64_t c = 0; c < channels; ++c) lanes[c] += row[c];
  }
}

// Joins a block of `count` numbers per channel, given by sums around `shift`, into moments of `before` numbers (Chan et
// al.). The new means become the shift.
ONWARD_SIMD void join_block(const float* sum, const float* square, float* shift, double before, double count,
                            int64_t channels, double* mean, double* m2) {
  const double share = count / (before + count), weight = before * share, each = 1 / count;
  ONWARD_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) {
    const double offset = static_cast<double>(sum[c]) * each;  // of the block's mean from the shift
    const double block = static_cast<double>(square[c]) - static_cast<double>(sum[c]) * offset;
    const double delta = static_cast<double>(shift[c]) + offset - mean[c];
    mean[c] += delta * share;
    m2[c] += (block > 0 ? block : 0) + delta * delta * weight;
    shift[c] = static_cast<float>(mean[c]);
  }
}

// The workspace of one part.
struct Part {
  double *mean, *m2;
  float *shift, *sum, *square;

  static std::size_t bytes(const RowTiles& tiles) {
    return static_cast<std::size_t>(tiles.channels_reserved()) * 2 * sizeof(double) +
           static_cast<std::size_t>(tiles.lanes_reserved()) * 3 * sizeof(float);
  }
  Part(void* workspace, int64_t index, const RowTiles& tiles) {
    mean = reinterpret_cast<double*>(static_cast<char*>(workspace) + static_cast<std::size_t>(index) * bytes(tiles));
    m2 = mean + tiles.channels_reserved();
    shift = reinterpret_cast<float*>(m2 + tiles.channels_reserved());
    sum = shift + tiles.lanes_reserved();
    square = sum + tiles.lanes_reserved();
  }
};

void set_first_shift(const float* x, int64_t rows, const RowTiles& tiles, float* shift) {
  const int64_t some = std::min(rows, kFirstRows);
  for (int64_t c = 0; c < tiles.channels; ++c) {
    double total = 0;
    for (int64_t r = 0; r < some; ++r) total += static_cast<double>(x[r * tiles.channels + c]);
    shift[c] = static_cast<float>(total / static_cast<double>(some));
  }
}

void measure(const float* x, int64_t rows, const RowTiles& tiles, const Part& part) {
  std::fill_n(part.mean, tiles.channels, 0.0);
  std::fill_n(part.m2, tiles.channels, 0.0);
  if (rows == 0) return;
  set_first_shift(x, rows, tiles, part.shift);
  const int64_t block_rows = kBlockTiles * tiles.rows_per_tile;
  for (int64_t row = 0; row < rows; row += block_rows) {
    const int64_t count = std::min(block_rows, rows - row);
    tiles.repeat(part.shift);
    std::fill_n(part.sum, tiles.width, 0.0f);
    std::fill_n(part.square, tiles.width, 0.0f);
    add_tiles(x + row * tiles.channels, count * tiles.channels, tiles.width, part.shift, part.sum, part.square);
    fold_lanes(part.sum, tiles.channels, tiles.rows_per_tile);
    fold_lanes(part.square, tiles.channels, tiles.rows_per_tile);
    join_block(part.sum, part.square, part.shift, static_cast<double>(row), static_cast<double>(count), tiles.channels,
               part.mean, part.m2);
  }
}

// Joins the moments of `count` numbers into those of `before`.
ONWARD_SIMD void join_part(const double* mean, const double* m2, double before, double count, int64_t channels,
                           double* all_mean, double* all_m2) {
  if (count == 0) return;
  const double share = count / (before + count), weight = before * share;
  ONWARD_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) {
    const double delta = mean[c] - all_mean[c];
    all_mean[c] += delta * share;
    all_m2[c] += m2[c] + delta * delta * weight;
  }
}

class StatisticsKernel final : public Kernel {
 public:
  explicit StatisticsKernel(const KernelSpec& spec)
      : tiles_(spec.inputs[0].shape), parts_(tiles_.parts(spec.threads)) {}

  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(parts_) * Part::bytes(tiles_); }

  void run(const KernelContext& context) override {
    const float* x = context.in<float>(0);
    parallel_for(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        measure(x + first_row(p) * tiles_.channels, first_row(p + 1) - first_row(p), tiles_,
                Part(context.workspace, p, tiles_));
      }
    });
    double *mean = context.out<double>(0), *m2 = mean + tiles_.channels;
    std::fill_n(mean, 2 * tiles_.channels, 0.0);
    for (int64_t p = 0; p < parts_; ++p) {
      const Part part(context.workspace, p, tiles_);
      join_part(part.mean, part.m2, static_cast<double>(first_row(p)),
                static_cast<double>(first_row(p + 1) - first_row(p)), tiles_.channels, mean, m2);
    }
    m2[tiles_.channels] = static_cast<double>(tiles_.rows);
  }

  std::string describe() const override { return "channels-last"; }

 private:
  int64_t first_row(int64_t part) const { return tiles_.rows * part / parts_; }

  RowTiles tiles_;
  int64_t parts_;
};

}  // namespace

std::unique_ptr<Kernel> make_channels_last_statistics(const KernelSpec& spec) {
  return std::make_unique<StatisticsKernel>(spec);
}

}  // namespace onward
