// Plain max pooling, row-major, and the form for channels-last activations, which walks over pixels with the channels as
// vectors. Its gradient gathers: an input pixel looks at the outputs whose windows cover it, so that dx is written once and
// needs no zero fill.
#include <algorithm>
#include <limits>

#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"
#include "ops/core/window.h"
#include "ops/max_pool/max_pool.h"

namespace onward {
namespace {

// True when `candidate` replaces `best`: larger, or not a number (the one type-independent test for it is x != x).
template <typename T> inline bool replaces(T candidate, T best) { return candidate > best || candidate != candidate; }

template <typename T> constexpr T lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

// A row-major position in the order of the reversed dimensions: ONNX's storage_order 1.
int64_t column_major(int64_t position, const Shape& shape) {
  int64_t result = 0, count = element_count(shape);
  for (std::size_t i = shape.size(); i-- > 0;) {
    count /= shape[i];
    result += position % shape[i] * count;
    position /= shape[i];
  }
  return result;
}

template <typename T, typename I> class PlainMaxPool final : public Kernel {
 public:
  explicit PlainMaxPool(const KernelSpec& spec)
      : window_(pooling_window(spec.attributes, spec.inputs[0].shape)),
        taps_(window_taps(window_)),
        planes_(spec.inputs[0].shape[0] * spec.inputs[0].shape[1]),
        has_indices_(spec.has_output(1)),
        has_window_(spec.has_output(2)),
        column_major_(spec.attributes.get_int("storage_order", 0) != 0) {}

  void run(const KernelContext& context) override {
    parallel_for(planes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) pool_plane(context, plane);
    });
  }

 private:
  void pool_plane(const KernelContext& context, int64_t plane) const {
    const T* x = context.in<T>(0) + plane * window_.input_count();
    for (int64_t p = 0; p < window_.output_count(); ++p) {
      const int32_t* taps = taps_.data() + p * window_.positions();
      int64_t best = window_.positions();
      T maximum = lowest<T>();
      for (int64_t k = 0; k < window_.positions(); ++k) {
        if (taps[k] < 0 || (best != window_.positions() && !replaces(x[taps[k]], maximum))) continue;
        best = k;
        maximum = x[taps[k]];
      }
      const int64_t at = plane * window_.output_count() + p;
      context.out<T>(0)[at] = maximum;
      if (has_indices_) context.out<int64_t>(1)[at] = best == window_.positions() ? -1 : index_of(plane, taps[best]);
      if (has_window_) context.out<I>(2)[at] = static_cast<I>(best);
    }
  }

  int64_t index_of(int64_t plane, int64_t position) const {
    return plane * window_.input_count() + (column_major_ ? column_major(position, window_.input) : position);
  }

  Window window_;
  std::vector<int32_t> taps_;
  int64_t planes_;
  bool has_indices_, has_window_, column_major_;
};

template <typename T, typename I> class PlainMaxPoolGrad final : public Kernel {
 public:
  explicit PlainMaxPoolGrad(const KernelSpec& spec)
      : window_(pooling_window(spec.attributes, spec.outputs[0].shape)),
        taps_(window_taps(window_)),
        planes_(spec.outputs[0].shape[0] * spec.outputs[0].shape[1]) {}

  void run(const KernelContext& context) override {
    parallel_for(planes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) scatter_plane(context, plane);
    });
  }

 private:
  void scatter_plane(const KernelContext& context, int64_t plane) const {
    const T* dy = context.in<T>(0) + plane * window_.output_count();
    const I* window = context.in<I>(1) + plane * window_.output_count();
    T* dx = context.out<T>(0) + plane * window_.input_count();
    std::fill_n(dx, window_.input_count(), T(0));
    for (int64_t p = 0; p < window_.output_count(); ++p) {
      const int64_t k = window[p];
      if (k < window_.positions() && taps_[p * window_.positions() + k] >= 0) dx[taps_[p * window_.positions() + k]] += dy[p];
    }
  }

  Window window_;
  std::vector<int32_t> taps_;
  int64_t planes_;
};

constexpr int64_t kBlock = 64;  // channels that are pooled together, their maxima in the first-level cache

// One block of channels of one output pixel.
template <typename T, typename I>
[[gnu::always_inline]] inline void pool_block(const T* x, const int32_t* taps, int64_t positions, int64_t channels, T* y,
                                              I* window, int64_t count) {
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
    if (c < channels) pool_block(image + c, own, positions, channels, y + to, window ? window + to : nullptr, channels - c);
  }
}

template <typename T, typename I>
[[gnu::always_inline]] inline void gather_block(const T* dy, const I* window, const TapInverse::Entry* entries, int64_t entry_count,
                                                int64_t channels, T* dx, int64_t count) {
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
      gather_block(dy + image + c, window + image + c, own, entry_count, channels, dx + pixel * channels + c, channels - c);
    }
  }
}

int64_t pixel_grain(int64_t channels) { return std::max<int64_t>(1, 8192 / std::max<int64_t>(channels, 1)); }

template <typename T, typename I> class LastMaxPool final : public Kernel {
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
      pool_pixels(context.in<T>(0), taps_.data(), window_.positions(), window_.input_count(), window_.output_count(), channels_,
                  context.out<T>(0), window, begin, end);
    });
  }

 private:
  Window window_;
  std::vector<int32_t> taps_;
  int64_t batch_, channels_;
  bool has_window_;
};

template <typename T, typename I> class LastMaxPoolGrad final : public Kernel {
 public:
  explicit LastMaxPoolGrad(const KernelSpec& spec)
      : window_(pooling_window(spec.attributes, spec.outputs[0].shape)),
        inverse_(invert_taps(window_, window_taps(window_))),
        batch_(spec.outputs[0].shape[0]),
        channels_(spec.outputs[0].shape[1]) {}

  std::string describe() const override { return "channels-last gather"; }

  void run(const KernelContext& context) override {
    parallel_for(batch_ * window_.input_count(), pixel_grain(channels_), [&](int64_t begin, int64_t end) {
      gather_pixels(context.in<T>(0), context.in<I>(1), inverse_.begin.data(), inverse_.entries.data(), window_.input_count(),
                    window_.output_count(), channels_, context.out<T>(0), begin, end);
    });
  }

 private:
  Window window_;
  TapInverse inverse_;
  int64_t batch_, channels_;
};

template <template <typename, typename> class K, typename T> std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  const auto kernel_shape = spec.attributes.get_ints("kernel_shape");
  if (window_dtype(element_count(kernel_shape)) == DType::kUInt8) return std::make_unique<K<T, uint8_t>>(spec);
  return std::make_unique<K<T, int32_t>>(spec);
}

bool wants_no_indices(const KernelSpec& spec) { return !spec.has_output(1); }
template <DType kDType> bool reads(const KernelSpec& spec) { return spec.inputs[0].dtype == kDType; }

template <typename T> void add_kernels(Registry& registry) {
  const auto last = OperandLayout::kChannelsLast;
  registry.add(KernelDef{.op = kMaxPool, .dtype = dtype_of<T>(), .make = make<PlainMaxPool, T>});
  registry.add(KernelDef{.op = kMaxPoolGrad, .dtype = dtype_of<T>(), .make = make<PlainMaxPoolGrad, T>});
  registry.add(KernelDef{.op = kMaxPool, .dtype = dtype_of<T>(), .priority = 10, .input_layouts = {last},
                         .output_layouts = {last}, .accepts = wants_no_indices, .make = make<LastMaxPool, T>});
  registry.add(KernelDef{.op = kMaxPoolGrad, .dtype = dtype_of<T>(), .priority = 10, .input_layouts = {last},
                         .output_layouts = {last}, .make = make<LastMaxPoolGrad, T>});
}

}  // namespace

void register_max_pool_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
  // Quantised images: inference only.
  registry.add(KernelDef{.op = kMaxPool, .dtype = DType::kUndefined, .accepts = reads<DType::kUInt8>,
                         .make = make<PlainMaxPool, uint8_t>});
  registry.add(KernelDef{.op = kMaxPool, .dtype = DType::kUndefined, .accepts = reads<DType::kInt8>,
                         .make = make<PlainMaxPool, int8_t>});
}

}  // namespace onward
