// Plain max pooling, row-major; the reference that the channels-last kernels are tested against.
#include <algorithm>

#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/window.h"
#include "ops/max_pool/max_pool.h"
#include "ops/max_pool/max_pool_channels_last.h"
#include "ops/max_pool/max_pool_kernel.h"

namespace onward {
namespace {

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

template <typename T, typename I>
class PlainMaxPool final : public Kernel {
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

template <typename T, typename I>
class PlainMaxPoolGrad final : public Kernel {
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
      if (k < window_.positions() && taps_[p * window_.positions() + k] >= 0)
        dx[taps_[p * window_.positions() + k]] += dy[p];
    }
  }

  Window window_;
  std::vector<int32_t> taps_;
  int64_t planes_;
};

template <DType kDType>
bool reads(const KernelSpec& spec) {
  return spec.inputs[0].dtype == kDType;
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(KernelDef{.op = kMaxPool, .dtype = dtype_of<T>(), .make = make_max_pool<PlainMaxPool, T>});
  registry.add(KernelDef{.op = kMaxPoolGrad, .dtype = dtype_of<T>(), .make = make_max_pool<PlainMaxPoolGrad, T>});
}

}  // namespace

void register_max_pool_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
  // Quantised images: inference only.
  registry.add(KernelDef{.op = kMaxPool,
                         .dtype = DType::kUndefined,
                         .accepts = reads<DType::kUInt8>,
                         .make = make_max_pool<PlainMaxPool, uint8_t>});
  registry.add(KernelDef{.op = kMaxPool,
                         .dtype = DType::kUndefined,
                         .accepts = reads<DType::kInt8>,
                         .make = make_max_pool<PlainMaxPool, int8_t>});
  add_channels_last_max_pool(registry);
}

}  // namespace onward
