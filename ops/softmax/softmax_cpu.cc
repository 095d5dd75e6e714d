#include "ops/core/registry.h"
#include "ops/softmax/lines.h"

namespace onward {
namespace {

template <typename T>
void softmax(const KernelSpec& spec, const KernelContext& context) {
  for_each_line(spec, [&](int64_t offset, int64_t length, int64_t stride) {
    const T* x = context.in<T>(0) + offset;
    T* y = context.out<T>(0) + offset;
    const LineSum line = exponential_sum(x, length, stride);
    for (int64_t i = 0; i < length; ++i) {
      y[i * stride] = static_cast<T>(std::exp(static_cast<double>(x[i * stride]) - line.largest) / line.sum);
    }
  });
}

template <typename T>
void softmax_grad(const KernelSpec& spec, const KernelContext& context) {
  for_each_line(spec, [&](int64_t offset, int64_t length, int64_t stride) {
    const T *dy = context.in<T>(0) + offset, *y = context.in<T>(1) + offset;
    T* dx = context.out<T>(0) + offset;
    double sum = 0;
    for (int64_t i = 0; i < length; ++i)
      sum += static_cast<double>(dy[i * stride]) * static_cast<double>(y[i * stride]);
    for (int64_t i = 0; i < length; ++i) {
      dx[i * stride] = static_cast<T>(static_cast<double>(y[i * stride]) * (static_cast<double>(dy[i * stride]) - sum));
    }
  });
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(KernelDef{.op = {"", "Softmax"}, .dtype = dtype_of<T>(), .make = make_function_kernel<softmax<T>>});
  registry.add(KernelDef{
      .op = {kOnwardDomain, "SoftmaxGrad"}, .dtype = dtype_of<T>(), .make = make_function_kernel<softmax_grad<T>>});
}

}  // namespace

void register_softmax_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
}

}  // namespace onward
