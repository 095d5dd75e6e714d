// Sums in double for both element types: a bias gradient adds up to a million terms.
#include <algorithm>

#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

template <typename T>
ONWARD_SIMD double sum_of(const T* x, int64_t count) {
  constexpr int kLanes = 16;  // independent sums, so that the loop vectorises
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += static_cast<double>(x[i + lane]);
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (; i < count; ++i) sum += static_cast<double>(x[i]);
  return sum;
}

// Row-major: every plane of the image is contiguous.
template <typename T>
void channel_sum(const KernelSpec& spec, const KernelContext& context) {
  const Shape& shape = spec.inputs[0].shape;
  const int64_t channels = shape[1], plane = element_count(Shape(shape.begin() + 2, shape.end()));
  parallel_for(channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      double sum = 0;
      for (int64_t n = 0; n < shape[0]; ++n) sum += sum_of(context.in<T>(0) + (n * channels + c) * plane, plane);
      context.out<T>(0)[c] = static_cast<T>(sum);
    }
  });
}

template <typename T>
ONWARD_SIMD void add_rows(const T* x, double* sums, int64_t channels, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(x[row * channels + c]);
  }
}

// Channels-last: every thread adds its pixels, then the threads' sums are added in order.
template <typename T>
class ChannelSumLast final : public Kernel {
 public:
  explicit ChannelSumLast(const KernelSpec& spec)
      : channels_(spec.inputs[0].shape[1]),
        rows_(channels_ > 0 ? spec.inputs[0].count() / channels_ : 0),
        parts_(std::max(spec.threads, 1)) {}

  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(parts_ * channels_) * sizeof(double); }
  std::string describe() const override { return "channels-last"; }

  void run(const KernelContext& context) override {
    double* sums = static_cast<double*>(context.workspace);
    const T* x = context.in<T>(0);
    parallel_for(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        double* own = sums + part * channels_;
        std::fill_n(own, channels_, 0.0);
        add_rows(x, own, channels_, rows_ * part / parts_, rows_ * (part + 1) / parts_);
      }
    });
    T* y = context.out<T>(0);
    for (int64_t c = 0; c < channels_; ++c) {
      double sum = 0;
      for (int64_t part = 0; part < parts_; ++part) sum += sums[part * channels_ + c];
      y[c] = static_cast<T>(sum);
    }
  }

 private:
  int64_t channels_, rows_, parts_;
};

template <typename T>
std::unique_ptr<Kernel> make_last(const KernelSpec& spec) {
  return std::make_unique<ChannelSumLast<T>>(spec);
}

template <typename T>
void add_kernels(Registry& registry) {
  const OpId op{kOnwardDomain, "ChannelSum"};
  registry.add(KernelDef{.op = op, .dtype = dtype_of<T>(), .make = make_function_kernel<channel_sum<T>>});
  registry.add(KernelDef{.op = op,
                         .dtype = dtype_of<T>(),
                         .priority = 10,
                         .input_layouts = {OperandLayout::kChannelsLast},
                         .make = make_last<T>});
}

}  // namespace

void register_channel_sum_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
}

}  // namespace onward
