#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 16384;

template <typename T>
ONWARD_SIMD void relu_range(const T* x, T* y, int64_t begin, int64_t end) {
  ONWARD_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] > T(0) ? x[i] : T(0);
}

template <typename T>
ONWARD_SIMD void relu_grad_range(const T* dy, const T* y, T* dx, int64_t begin, int64_t end) {
  ONWARD_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) dx[i] = y[i] > T(0) ? dy[i] : T(0);
}

template <typename T>
void relu(const KernelSpec& spec, const KernelContext& context) {
  parallel_for(spec.outputs[0].count(), kGrain,
               [&](int64_t begin, int64_t end) { relu_range(context.in<T>(0), context.out<T>(0), begin, end); });
}

template <typename T>
void relu_grad(const KernelSpec& spec, const KernelContext& context) {
  parallel_for(spec.outputs[0].count(), kGrain, [&](int64_t begin, int64_t end) {
    relu_grad_range(context.in<T>(0), context.in<T>(1), context.out<T>(0), begin, end);
  });
}

template <typename T>
void add_kernels(Registry& registry) {
  const std::vector<OperandLayout> same{OperandLayout::kSame};
  registry.add(KernelDef{.op = {"", "Relu"},
                         .dtype = dtype_of<T>(),
                         .input_layouts = same,
                         .output_layouts = same,
                         .make = make_function_kernel<relu<T>>});
  registry.add(KernelDef{.op = {kOnwardDomain, "ReluGrad"},
                         .dtype = dtype_of<T>(),
                         .input_layouts = same,
                         .output_layouts = same,
                         .make = make_function_kernel<relu_grad<T>>});
}

}  // namespace

void register_relu_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
}

}  // namespace onward
