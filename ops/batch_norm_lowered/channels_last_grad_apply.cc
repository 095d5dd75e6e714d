// dX in closed form: with d = x - mean, dx = factor * g + slope * d + offset, three numbers per channel.
#include "ops/batch_norm_lowered/batch_norm_lowered.h"
#include "ops/batch_norm_lowered/channels_last_kernels.h"
#include "ops/batch_norm_lowered/row_tiles.h"
#include "ops/core/parallel.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

struct Lanes {
  float *mean, *factor, *slope, *offset, *bias;
};

template <bool kMask>
ONWARD_SIMD void apply(const float* dy, const float* x, float* dx, int64_t count, int64_t width, Lanes lanes) {
  const float *mean = lanes.mean, *factor = lanes.factor, *slope = lanes.slope, *offset = lanes.offset,
              *bias = lanes.bias;
  for (int64_t at = 0; at < count; at += width) {
    const int64_t end = at + width < count ? width : count - at;
    ONWARD_INDEPENDENT
    for (int64_t i = 0; i < end; ++i) {
      const float d = x[at + i] - mean[i];
      float g = dy[at + i];
      // The same expression as in the forward pass, so that the same elements pass.
      if constexpr (kMask) g = d * factor[i] + bias[i] > 0 ? g : 0;
      dx[at + i] = factor[i] * g + (slope[i] * d + offset[i]);
    }
  }
}

class GradApplyKernel final : public Kernel {
 public:
  explicit GradApplyKernel(const KernelSpec& spec)
      : tiles_(spec.inputs[1].shape), mask_(relu_mask(spec.attributes) == ReluMask::kRecompute) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(5 * tiles_.lanes_reserved()) * sizeof(float);
  }

  void run(const KernelContext& context) override {
    const Lanes lanes = fill_lanes(context);
    const float *dy = context.in<float>(0), *x = context.in<float>(1);
    float* dx = context.out<float>(0);
    parallel_for(tiles_.rows, tiles_.grain_rows(), [&](int64_t begin, int64_t end) {
      const int64_t at = begin * tiles_.channels, count = (end - begin) * tiles_.channels;
      (mask_ ? apply<true> : apply<false>)(dy + at, x + at, dx + at, count, tiles_.width, lanes);
    });
  }

  std::string describe() const override { return "channels-last"; }

 private:
  Lanes fill_lanes(const KernelContext& context) const {
    const int64_t size = tiles_.lanes_reserved();
    float* first = static_cast<float*>(context.workspace);
    const Lanes lanes{first, first + size, first + 2 * size, first + 3 * size, first + 4 * size};
    const float *mean = context.in<float>(2), *inv_std = context.in<float>(3), *scale = context.in<float>(4);
    const double* sums = context.in<double>(5);
    const double count = *context.in<double>(6), each = count > 0 ? 1 / count : 0;
    for (int64_t c = 0; c < tiles_.channels; ++c) {
      const float factor = scale[c] * inv_std[c];
      lanes.mean[c] = mean[c];
      lanes.factor[c] = factor;
      lanes.slope[c] = static_cast<float>(-static_cast<double>(factor) * inv_std[c] * sums[tiles_.channels + c] * each);
      lanes.offset[c] = static_cast<float>(-static_cast<double>(factor) * sums[c] * each);
      lanes.bias[c] = mask_ ? context.in<float>(7)[c] : 0;
    }
    for (float* array : {lanes.mean, lanes.factor, lanes.slope, lanes.offset, lanes.bias}) tiles_.repeat(array);
    return lanes;
  }

  RowTiles tiles_;
  bool mask_;
};

}  // namespace

std::unique_ptr<Kernel> make_channels_last_grad_apply(const KernelSpec& spec) {
  return std::make_unique<GradApplyKernel>(spec);
}

}  // namespace onward
