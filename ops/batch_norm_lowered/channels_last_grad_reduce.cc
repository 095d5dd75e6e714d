// The reduction of backward: one pass reads dY (and a second gradient), X and, for the mask, Y; it sums g and g * (x -
// mean) per channel in fp32 over a block of tiles, then in double, and can write g for the shortcut branch.
#include <algorithm>

#include "ops/batch_norm_lowered/batch_norm_lowered.h"
#include "ops/batch_norm_lowered/channels_last_kernels.h"
#include "ops/batch_norm_lowered/row_tiles.h"
#include "ops/core/parallel.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

constexpr int64_t kBlockTiles = 128;

struct Images {
  const float *dy, *x, *y, *dy2;
  float* g;
};

struct Lanes {
  const float *mean, *factor, *bias;
};

// Numbers [begin, begin + count) of the images, count a whole number of tiles but for the last.
template <ReluMask kMask, bool kAddend, bool kKeep>
ONWARD_SIMD void reduce(Images images, int64_t begin, int64_t count, int64_t width, Lanes lanes, float* sum,
                        float* product) {
  const float *mean = lanes.mean, *factor = lanes.factor, *bias = lanes.bias;
  for (int64_t tile = 0; tile < count; tile += width) {
    const int64_t at = begin + tile, end = tile + width < count ? width : count - tile;
    const float *dy = images.dy + at, *x = images.x + at;
    const float* y = kMask == ReluMask::kOutput ? images.y + at : nullptr;
    const float* dy2 = kAddend ? images.dy2 + at : nullptr;
    float* kept = kKeep ? images.g + at : nullptr;
    ONWARD_INDEPENDENT
    for (int64_t i = 0; i < end; ++i) {
      const float d = x[i] - mean[i];
      float g = dy[i];
      if constexpr (kAddend) g += dy2[i];
      // The same expression as in the forward pass, so that the same elements pass.
      if constexpr (kMask == ReluMask::kRecompute) g = d * factor[i] + bias[i] > 0 ? g : 0;
      if constexpr (kMask == ReluMask::kOutput) g = y[i] > 0 ? g : 0;
      if constexpr (kKeep) kept[i] = g;
      sum[i] += g;
      product[i] += g * d;
    }
  }
}

using Loop = void (*)(Images, int64_t, int64_t, int64_t, Lanes, float*, float*);

template <ReluMask kMask>
Loop choose_of_mask(bool addend, bool keep) {
  if (addend) return keep ? reduce<kMask, true, true> : reduce<kMask, true, false>;
  return keep ? reduce<kMask, false, true> : reduce<kMask, false, false>;
}

Loop choose(ReluMask mask, bool addend, bool keep) {
  switch (mask) {
    case ReluMask::kRecompute: return choose_of_mask<ReluMask::kRecompute>(addend, keep);
    case ReluMask::kOutput: return choose_of_mask<ReluMask::kOutput>(addend, keep);
    default: return choose_of_mask<ReluMask::kNone>(addend, keep);
  }
}

// totals[c] += the lanes of channel c, which become zero.
ONWARD_SIMD void flush(float* lanes, int64_t channels, int64_t rows, double* totals) {
  for (int64_t r = 0; r < rows; ++r) {
    float* row = lanes + r * channels;
    ONWARD_INDEPENDENT
    for (int64_t c = 0; c < channels; ++c) {
      totals[c] += static_cast<double>(row[c]);
      row[c] = 0;
    }
  }
}

class GradReduceKernel final : public Kernel {
 public:
  explicit GradReduceKernel(const KernelSpec& spec)
      : tiles_(spec.inputs[1].shape),
        parts_(tiles_.parts(spec.threads)),
        mask_(relu_mask(spec.attributes)),
        addend_(spec.has_input(7)),
        keep_(spec.has_output(1)),
        loop_(choose(mask_, addend_, keep_)) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(3 * tiles_.lanes_reserved()) * sizeof(float) +
           static_cast<std::size_t>(parts_) * part_bytes();
  }

  void run(const KernelContext& context) override {
    const Images images{context.in<float>(0), context.in<float>(1),
                        mask_ == ReluMask::kOutput ? context.in<float>(6) : nullptr,
                        addend_ ? context.in<float>(7) : nullptr, keep_ ? context.out<float>(1) : nullptr};
    const Lanes lanes = fill_lanes(context);
    char* parts =
        static_cast<char*>(context.workspace) + static_cast<std::size_t>(3 * tiles_.lanes_reserved()) * sizeof(float);
    parallel_for(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t first = tiles_.rows * p / parts_, last = tiles_.rows * (p + 1) / parts_;
        reduce_part(images, first, last, lanes, parts + static_cast<std::size_t>(p) * part_bytes());
      }
    });
    join(reinterpret_cast<const double*>(parts), context.in<float>(3), context.out<double>(0));
  }

  std::string describe() const override { return "channels-last"; }

 private:
  std::size_t part_bytes() const {
    return static_cast<std::size_t>(2 * tiles_.channels_reserved()) * sizeof(double) +
           static_cast<std::size_t>(2 * tiles_.lanes_reserved()) * sizeof(float);
  }

  Lanes fill_lanes(const KernelContext& context) const {
    float* mean = static_cast<float*>(context.workspace);
    float *factor = mean + tiles_.lanes_reserved(), *bias = factor + tiles_.lanes_reserved();
    std::copy_n(context.in<float>(2), tiles_.channels, mean);
    tiles_.repeat(mean);
    if (mask_ == ReluMask::kRecompute) {
      for (int64_t c = 0; c < tiles_.channels; ++c) {
        factor[c] = context.in<float>(4)[c] * context.in<float>(3)[c];
        bias[c] = context.in<float>(5)[c];
      }
      tiles_.repeat(factor);
      tiles_.repeat(bias);
    }
    return {mean, factor, bias};
  }

  void reduce_part(const Images& images, int64_t first, int64_t last, const Lanes& lanes, char* memory) const {
    double *totals = reinterpret_cast<double*>(memory), *product_totals = totals + tiles_.channels_reserved();
    float *sum = reinterpret_cast<float*>(product_totals + tiles_.channels_reserved()),
          *product = sum + tiles_.lanes_reserved();
    std::fill_n(totals, 2 * tiles_.channels_reserved(), 0.0);
    std::fill_n(sum, 2 * tiles_.lanes_reserved(), 0.0f);
    const int64_t block_rows = kBlockTiles * tiles_.rows_per_tile;
    for (int64_t row = first; row < last; row += block_rows) {
      const int64_t rows = std::min(block_rows, last - row);
      loop_(images, row * tiles_.channels, rows * tiles_.channels, tiles_.width, lanes, sum, product);
      flush(sum, tiles_.channels, tiles_.rows_per_tile, totals);
      flush(product, tiles_.channels, tiles_.rows_per_tile, product_totals);
    }
  }

  void join(const double* first_part, const float* inv_std, double* sums) const {
    std::fill_n(sums, 2 * tiles_.channels, 0.0);
    for (int64_t p = 0; p < parts_; ++p) {
      const double* totals = first_part + static_cast<std::size_t>(p) * part_bytes() / sizeof(double);
      const double* product_totals = totals + tiles_.channels_reserved();
      for (int64_t c = 0; c < tiles_.channels; ++c) {
        sums[c] += totals[c];
        sums[tiles_.channels + c] += product_totals[c] * static_cast<double>(inv_std[c]);
      }
    }
  }

  RowTiles tiles_;
  int64_t parts_;
  ReluMask mask_;
  bool addend_, keep_;
  Loop loop_;
};

}  // namespace

std::unique_ptr<Kernel> make_channels_last_grad_reduce(const KernelSpec& spec) {
  return std::make_unique<GradReduceKernel>(spec);
}

}  // namespace onward
