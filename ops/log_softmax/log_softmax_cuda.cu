#include "ops/core/registry.h"
#include "ops/softmax/device_lines.h"

namespace onward {
namespace {

template <typename T>
__global__ void __launch_bounds__(kLineThreads) log_softmax_kernel(DeviceLines lines, const T* x, T* y) {
  if (warp_index() >= lines.count) return;
  x += lines.offset(warp_index());
  y += lines.offset(warp_index());
  const DeviceLineSum line = exponential_sum_of_warp(x, lines.length, lines.stride);
  const float log_sum = logf(line.sum);
  for (int64_t i = lane_index(); i < lines.length; i += kWarpLanes) {
    y[i * lines.stride] = static_cast<T>(static_cast<float>(x[i * lines.stride]) - line.largest - log_sum);
  }
}

template <typename T>
__global__ void __launch_bounds__(kLineThreads)
    log_softmax_grad_kernel(DeviceLines lines, const T* dy, const T* y, T* dx) {
  if (warp_index() >= lines.count) return;
  const int64_t offset = lines.offset(warp_index());
  float sum = 0;
  for (int64_t i = lane_index(); i < lines.length; i += kWarpLanes) {
    sum += static_cast<float>(dy[offset + i * lines.stride]);
  }
  sum = warp_sum(sum);
  for (int64_t i = lane_index(); i < lines.length; i += kWarpLanes) {
    const int64_t at = offset + i * lines.stride;
    dx[at] = static_cast<T>(static_cast<float>(dy[at]) - expf(static_cast<float>(y[at])) * sum);
  }
}

template <typename T>
void log_softmax(const KernelSpec& spec, const KernelContext& context) {
  const DeviceLines lines(spec);
  launch(log_softmax_kernel<T>, warp_each(lines.count), context.stream, lines, context.in<T>(0), context.out<T>(0));
}

template <typename T>
void log_softmax_grad(const KernelSpec& spec, const KernelContext& context) {
  const DeviceLines lines(spec);
  launch(log_softmax_grad_kernel<T>, warp_each(lines.count), context.stream, lines, context.in<T>(0), context.in<T>(1),
         context.out<T>(0));
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(KernelDef{.op = {"", "LogSoftmax"},
                         .backend = Backend::kCuda,
                         .dtype = dtype_of<T>(),
                         .make = make_function_kernel<log_softmax<T>>});
  registry.add(KernelDef{.op = {kOnwardDomain, "LogSoftmaxGrad"},
                         .backend = Backend::kCuda,
                         .dtype = dtype_of<T>(),
                         .make = make_function_kernel<log_softmax_grad<T>>});
}

}  // namespace

void register_log_softmax_cuda(Registry& registry) { add_kernels<float>(registry); }

}  // namespace onward
