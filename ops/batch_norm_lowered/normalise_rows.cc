#include "ops/batch_norm_lowered/normalise_rows.h"

#include "ops/core/parallel.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

template <bool kResidual, bool kRelu>
ONWARD_SIMD void normalise(const float* x, const float* residual, float* y, int64_t count, int64_t width,
                           const float* mean, const float* factor, const float* bias) {
  for (int64_t at = 0; at < count; at += width) {
    const int64_t end = at + width < count ? width : count - at;
    ONWARD_INDEPENDENT
    for (int64_t i = 0; i < end; ++i) {
      float value = (x[at + i] - mean[i]) * factor[i] + bias[i];
      if constexpr (kResidual) value += residual[at + i];
      if constexpr (kRelu) value = value > 0 ? value : 0;
      y[at + i] = value;
    }
  }
}

using Loop = void (*)(const float*, const float*, float*, int64_t, int64_t, const float*, const float*, const float*);

Loop choose(bool residual, bool relu) {
  if (residual) return relu ? normalise<true, true> : normalise<true, false>;
  return relu ? normalise<false, true> : normalise<false, false>;
}

}  // namespace

NormaliseRows::Lanes NormaliseRows::lanes(void* workspace) const {
  float* first = static_cast<float*>(workspace);
  return {first, first + tiles_.lanes_reserved(), first + 2 * tiles_.lanes_reserved()};
}

void NormaliseRows::run(const Lanes& lanes, const float* x, const float* residual, bool relu, float* y) const {
  for (float* array : {lanes.mean, lanes.factor, lanes.bias}) tiles_.repeat(array);
  const Loop loop = choose(residual != nullptr, relu);
  parallel_for(tiles_.rows, tiles_.grain_rows(), [&](int64_t begin, int64_t end) {
    const int64_t at = begin * tiles_.channels, count = (end - begin) * tiles_.channels;
    loop(x + at, residual ? residual + at : nullptr, y + at, count, tiles_.width, lanes.mean, lanes.factor, lanes.bias);
  });
}

}  // namespace onward
