#include <algorithm>

#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

// Sizes of (N, C, spatial...).
struct Extents {
  int64_t batch, channels, positions;

  explicit Extents(const Shape& shape)
      : batch(shape[0]), channels(shape[1]), positions(element_count(Shape(shape.begin() + 2, shape.end()))) {}
};

template <typename T>
void pool(const KernelSpec& spec, const KernelContext& context) {
  const Extents e(spec.inputs[0].shape);
  parallel_for(e.batch * e.channels, 16, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const T* x = context.in<T>(0) + plane * e.positions;
      double sum = 0;
      for (int64_t i = 0; i < e.positions; ++i) sum += static_cast<double>(x[i]);
      context.out<T>(0)[plane] = static_cast<T>(sum / static_cast<double>(e.positions));
    }
  });
}

template <typename T>
void pool_grad(const KernelSpec& spec, const KernelContext& context) {
  const Extents e(spec.outputs[0].shape);
  parallel_for(e.batch * e.channels, 16, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const T dx = context.in<T>(0)[plane] / static_cast<T>(e.positions);
      std::fill_n(context.out<T>(0) + plane * e.positions, e.positions, dx);
    }
  });
}

constexpr int64_t kBlock = 64;  // channels that are summed together

template <typename T>
ONWARD_SIMD void mean_image(const T* x, T* y, int64_t positions, int64_t channels) {
  for (int64_t first = 0; first < channels; first += kBlock) {
    const int64_t count = channels - first < kBlock ? channels - first : kBlock;
    double sum[kBlock] = {};
    for (int64_t i = 0; i < positions; ++i) {
      for (int64_t c = 0; c < count; ++c) sum[c] += static_cast<double>(x[i * channels + first + c]);
    }
    for (int64_t c = 0; c < count; ++c) y[first + c] = static_cast<T>(sum[c] / static_cast<double>(positions));
  }
}

template <typename T>
ONWARD_SIMD void spread_image(const T* dy, T* dx, int64_t positions, int64_t channels) {
  const T factor = T(1) / static_cast<T>(positions);
  for (int64_t i = 0; i < positions; ++i) {
    for (int64_t c = 0; c < channels; ++c) dx[i * channels + c] = dy[c] * factor;
  }
}

template <typename T>
void pool_last(const KernelSpec& spec, const KernelContext& context) {
  const Extents e(spec.inputs[0].shape);
  parallel_for(e.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      mean_image(context.in<T>(0) + n * e.positions * e.channels, context.out<T>(0) + n * e.channels, e.positions,
                 e.channels);
    }
  });
}

template <typename T>
void pool_grad_last(const KernelSpec& spec, const KernelContext& context) {
  const Extents e(spec.outputs[0].shape);
  parallel_for(e.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      spread_image(context.in<T>(0) + n * e.channels, context.out<T>(0) + n * e.positions * e.channels, e.positions,
                   e.channels);
    }
  });
}

template <typename T>
void add_kernels(Registry& registry) {
  const OpId op{"", "GlobalAveragePool"}, grad{kOnwardDomain, "GlobalAveragePoolGrad"};
  const std::vector<OperandLayout> last{OperandLayout::kChannelsLast};
  registry.add(KernelDef{.op = op, .dtype = dtype_of<T>(), .make = make_function_kernel<pool<T>>});
  registry.add(KernelDef{.op = grad, .dtype = dtype_of<T>(), .make = make_function_kernel<pool_grad<T>>});
  registry.add(KernelDef{.op = op,
                         .dtype = dtype_of<T>(),
                         .priority = 10,
                         .input_layouts = last,
                         .output_layouts = last,
                         .make = make_function_kernel<pool_last<T>>});
  registry.add(KernelDef{.op = grad,
                         .dtype = dtype_of<T>(),
                         .priority = 10,
                         .input_layouts = last,
                         .output_layouts = last,
                         .make = make_function_kernel<pool_grad_last<T>>});
}

}  // namespace

void register_global_average_pool_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
}

}  // namespace onward
