// Max pooling of channels-last activations: it walks over pixels with the channels as vectors. The gradient gathers: an
// input pixel looks at the outputs whose windows cover it, so that dx is written once and needs no zero fill.
#include "ops/max_pool/max_pool_channels_last.h"

#include <algorithm>

#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"
#include "ops/core/window.h"
#include "ops/max_pool/max_pool.h"
#include "ops/max_pool/max_pool_kernel.h"

namespace onward {
namespace {

constexpr int64_t kBlock = 64;  // channels that are pooled together, their maxima in the first-level cache

// One block of channels of one output pixel.
template <typename T, typename I>
[[gnu::always_inline]] inline void pool_block(const T* x, const int32_t* taps, int64_t positions, int64_t channels,
                                              T* y, I* window, int64_t count) {
  T best[kBlock];
  int32_t at[kBlock];
  for (int64_t c = 0; c < count; ++c) {
    best[c] = lowest<T>();
    at[c] = static_cast<int32_t>(positions);
  }
  bool first = true;
  for (int64_t k = 0; k < positions; ++k) {
    if (taps[k] < 0) continue;
    const T* from = x + taps[k] * channels;
    const auto position = static_cast<int32_t>(k);
    if (first) {
      for (int64_t c = 0; c < count; ++c) {
        best[c] = from[c];
        at[c] = position;
      }
    } else {
      for (int64_t c = 0; c < count; ++c) {
        const T value = from[c];
        const bool better = (value > best[c]) | (value != value);
        best[c] = better ? value : best[c];
        at[c] = better ? position : at[c];
      }
    }
    first = false;
  }
  for (int64_t c = 0; c < count; ++c) y[c] = best[c];
  if (window) {
    for (int64_t c = 0; c < count; ++c) window[c] = static_cast<I>(at[c]);
  }
}

// Output pixels [begin, end), counted over all images.
template <typename T, typename I>
ONWARD_SIMD void pool_pixels(const T* x, const int32_t* taps, int64_t positions, int64_t inputs, int64_t outputs,
                             int64_t channels, T* y, I* window, int64_t begin, int64_t end) {
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const T* image = x + pixel / outputs * inputs * channels;
    const int32_t* own = taps + pixel % outputs * positions;
    int64_t c = 0;
    for (; c + kBlock <= channels; c += kBlock) {
      const int64_t to = pixel * channels + c;
      pool_block(image + c, own, positions, channels, y + to, window ? window + to : nullptr, kBlock);
    }
    const int64_t to = pixel * channels + c;
    if (c < channels)
      pool_block(image + c, own, positions, channels, y + to, window ? window + to : nullptr, channels - c);
  }
}

template <typename T, typename I>
[[gnu::always_inline]] inline void gather_block(const T* dy, const I* window, const TapInverse::Entry* entries,
                                                int64_t entry_count, int64_t channels, T* dx, int64_t count) {
  T sum[kBlock];
  for (int64_t c = 0; c < count; ++c) sum[c] = T(0);
  for (int64_t e = 0; e < entry_count; ++e) {
    const T* from = dy + entries[e].output * channels;
    const I* at = window + entries[e].output * channels;
    const I position = static_cast<I>(entries[e].position);
    for (int64_t c = 0; c < count; ++c) {
      const T value = from[c];  // read in any case: a read under a condition is not vectorised
      sum[c] += at[c] == position ? value : T(0);
    }
  }
  for (int64_t c = 0; c < count; ++c) dx[c] = sum[c];
}

// Input pixels [begin, end), counted over all images.
template <typename T, typename I>
ONWARD_SIMD void gather_pixels(const T* dy, const I* window, const int32_t* first, const TapInverse::Entry* entries,
                               int64_t inputs, int64_t outputs, int64_t channels, T* dx, int64_t begin, int64_t end) {
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const int64_t image = pixel / inputs * outputs * channels, q = pixel % inputs;
    const TapInverse::Entry* own = entries + first[q];
    const int64_t entry_count = first[q + 1] - first[q];
    int64_t c = 0;
    for (; c + kBlock <= channels; c += kBlock) {
      gather_block(dy + image + c, window + image + c, own, entry_count, channels, dx + pixel * channels + c, kBlock);
    }
    if (c < channels) {
      gather_block(dy + image + c, window + image + c, own, entry_count, channels, dx + pixel * channels + c,
                   channels - c);
    }
  }
}

int64_t pixel_grain(int64_t channels) { return std::max<int64_t>(1, 8192 / std::max<int64_t>(channels, 1)); }

template <typename T, typename I>
class LastMaxPool final : public Kernel {
 public:
  explicit LastMaxPool(const KernelSpec& spec)
      : window_(pooling_window(spec.attributes, spec.inputs[0].shape)),
        taps_(window_taps(window_)),
        batch_(spec.inputs[0].shape[0]),
        channels_(spec.inputs[0].shape[1]),
        has_window_(spec.has_output(2)) {}

  std::string describe() const override { return "channels-last"; }

  void run(const KernelContext& context) override {
    I* window = has_window_ ? context.out<I>(2) : nullptr;
    parallel_for(batch_ * window_.output_count(), pixel_grain(channels_), [&](int64_t begin, int64_t end) {
      pool_pixels(context.in<T>(0), taps_.data(), window_.positions(), window_.input_count(), window_.output_count(),
                  channels_, context.out<T>(0), window, begin, end);
    });
  }

 private:
  Window window_;
  std::vector<int32_t> taps_;
  int64_t batch_, channels_;
  bool has_window_;
};

template <typename T, typename I>
class LastMaxPoolGrad final : public Kernel {
 public:
  explicit LastMaxPoolGrad(const KernelSpec& spec)
      : window_(pooling_window(spec.attributes, spec.outputs[0].shape)),
        inverse_(invert_taps(window_, window_taps(window_))),
        batch_(spec.outputs[0].shape[0]),
        channels_(spec.outputs[0].shape[1]) {}

  std::string describe() const override { return "channels-last gather"; }

  void run(const KernelContext& context) override {
    parallel_for(batch_ * window_.input_count(), pixel_grain(channels_), [&](int64_t begin, int64_t end) {
      gather_pixels(context.in<T>(0), context.in<I>(1), inverse_.begin.data(), inverse_.entries.data(),
                    window_.input_count(), window_.output_count(), channels_, context.out<T>(0), begin, end);
    });
  }

 private:
  Window window_;
  TapInverse inverse_;
  int64_t batch_, channels_;
};

bool wants_no_indices(const KernelSpec& spec) { return !spec.has_output(1); }

template <typename T>
void add_kernels(Registry& registry) {
  const auto last = OperandLayout::kChannelsLast;
  registry.add(KernelDef{.op = kMaxPool,
                         .dtype = dtype_of<T>(),
                         .priority = 10,
                         .input_layouts = {last},
                         .output_layouts = {last},
                         .accepts = wants_no_indices,
                         .make = make_max_pool<LastMaxPool, T>});
  registry.add(KernelDef{.op = kMaxPoolGrad,
                         .dtype = dtype_of<T>(),
                         .priority = 10,
                         .input_layouts = {last},
                         .output_layouts = {last},
                         .make = make_max_pool<LastMaxPoolGrad, T>});
}

}  // namespace

void add_channels_last_max_pool(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
}

}  // namespace onward
