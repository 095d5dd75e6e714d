// Average pooling of channels-last activations and its gradient: both are weighted sums of source pixels for every
// target pixel, with the channels as vectors, so that the target is written once.
#include "ops/average_pool/average_pool_channels_last.h"

#include <algorithm>

#include "ops/average_pool/average_pool.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

// One weighted source pixel of a target pixel.
template <typename T>
struct Term {
  int32_t source;
  T weight;
};

// What every target pixel is made from: target = sum of weight * source over [begin[q], begin[q + 1]).
template <typename T>
struct Terms {
  std::vector<int32_t> begin{0};
  std::vector<Term<T>> terms;
  int64_t sources = 0;

  int64_t targets() const { return static_cast<int64_t>(begin.size()) - 1; }
  void close() { begin.push_back(static_cast<int32_t>(terms.size())); }
};

template <typename T>
Terms<T> forward_terms(const Window& window, const std::vector<int32_t>& taps, const std::vector<double>& divisors) {
  Terms<T> result{.sources = window.input_count()};
  const int64_t positions = window.positions();
  for (int64_t p = 0; p < window.output_count(); ++p) {
    for (int64_t k = 0; k < positions; ++k) {
      const int32_t tap = taps[p * positions + k];
      if (tap >= 0) result.terms.push_back({tap, static_cast<T>(1 / divisors[p])});
    }
    result.close();
  }
  return result;
}

template <typename T>
Terms<T> backward_terms(const Window& window, const std::vector<int32_t>& taps, const std::vector<double>& divisors) {
  Terms<T> result{.sources = window.output_count()};
  const TapInverse inverse = invert_taps(window, taps);
  for (int64_t q = 0; q < window.input_count(); ++q) {
    for (int32_t e = inverse.begin[q]; e < inverse.begin[q + 1]; ++e) {
      const int32_t p = inverse.entries[e].output;
      result.terms.push_back({p, static_cast<T>(1 / divisors[p])});
    }
    result.close();
  }
  return result;
}

constexpr int64_t kBlock = 64;  // channels that are summed together, their sums in the first-level cache

template <typename T>
[[gnu::always_inline]] inline void sum_block(const T* x, const Term<T>* terms, int64_t term_count, int64_t channels,
                                             T* y, int64_t count) {
  T sum[kBlock];
  for (int64_t c = 0; c < count; ++c) sum[c] = T(0);
  for (int64_t i = 0; i < term_count; ++i) {
    const T* from = x + terms[i].source * channels;
    const T weight = terms[i].weight;
    for (int64_t c = 0; c < count; ++c) sum[c] += weight * from[c];
  }
  for (int64_t c = 0; c < count; ++c) y[c] = sum[c];
}

// Target pixels [begin, end), counted over all images.
template <typename T>
ONWARD_SIMD void sum_pixels(const T* x, const int32_t* first, const Term<T>* terms, int64_t sources, int64_t targets,
                            int64_t channels, T* y, int64_t begin, int64_t end) {
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const T* image = x + pixel / targets * sources * channels;
    const int64_t target = pixel % targets;
    const Term<T>* own = terms + first[target];
    const int64_t term_count = first[target + 1] - first[target];
    int64_t c = 0;
    for (; c + kBlock <= channels; c += kBlock)
      sum_block(image + c, own, term_count, channels, y + pixel * channels + c, kBlock);
    if (c < channels) sum_block(image + c, own, term_count, channels, y + pixel * channels + c, channels - c);
  }
}

// Both directions: a weighted sum of source pixels for every target pixel.
template <typename T>
class LastAveragePool final : public Kernel {
 public:
  explicit LastAveragePool(const KernelSpec& spec)
      : batch_(spec.inputs[0].shape[0]), channels_(spec.inputs[0].shape[1]) {
    const bool backward = spec.op == kAveragePoolGrad;
    const Window window = pooling_window(spec.attributes, (backward ? spec.outputs : spec.inputs)[0].shape);
    const std::vector<int32_t> taps = window_taps(window);
    const std::vector<double> divisors = average_divisors(spec.attributes, window, taps);
    terms_ = backward ? backward_terms<T>(window, taps, divisors) : forward_terms<T>(window, taps, divisors);
  }

  std::string describe() const override { return "channels-last"; }

  void run(const KernelContext& context) override {
    const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(channels_, 1));
    parallel_for(batch_ * terms_.targets(), grain, [&](int64_t begin, int64_t end) {
      sum_pixels(context.in<T>(0), terms_.begin.data(), terms_.terms.data(), terms_.sources, terms_.targets(),
                 channels_, context.out<T>(0), begin, end);
    });
  }

 private:
  int64_t batch_, channels_;
  Terms<T> terms_;
};

template <typename T>
void add_kernels(Registry& registry) {
  for (const OpId& op : {kAveragePool, kAveragePoolGrad}) {
    registry.add(KernelDef{.op = op,
                           .dtype = dtype_of<T>(),
                           .priority = 10,
                           .input_layouts = {OperandLayout::kChannelsLast},
                           .output_layouts = {OperandLayout::kChannelsLast},
                           .make = [](const KernelSpec& spec) -> std::unique_ptr<Kernel> {
                             return std::make_unique<LastAveragePool<T>>(spec);
                           }});
  }
}

}  // namespace

void add_channels_last_average_pool(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
}

}  // namespace onward
