#include "ops/core/cuda/pointwise.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

template <typename T>
struct Relu {
  __device__ T operator()(T x) const { return x > T(0) ? x : T(0); }
};

template <typename T>
struct ReluGrad {
  __device__ T operator()(T dy, T y) const { return y > T(0) ? dy : T(0); }
};

template <typename T>
void relu(const KernelSpec& spec, const KernelContext& context) {
  pointwise(spec.outputs[0].count(), context.stream, Relu<T>{}, context.out<T>(0), context.in<T>(0));
}

template <typename T>
void relu_grad(const KernelSpec& spec, const KernelContext& context) {
  pointwise(spec.outputs[0].count(), context.stream, ReluGrad<T>{}, context.out<T>(0), context.in<T>(0),
            context.in<T>(1));
}

template <typename T>
void add_kernels(Registry& registry) {
  const std::vector<OperandLayout> same{OperandLayout::kSame};
  registry.add(KernelDef{.op = {"", "Relu"},
                         .backend = Backend::kCuda,
                         .dtype = dtype_of<T>(),
                         .input_layouts = same,
                         .output_layouts = same,
                         .make = make_function_kernel<relu<T>>});
  registry.add(KernelDef{.op = {kOnwardDomain, "ReluGrad"},
                         .backend = Backend::kCuda,
                         .dtype = dtype_of<T>(),
                         .input_layouts = same,
                         .output_layouts = same,
                         .make = make_function_kernel<relu_grad<T>>});
}

}  // namespace

void register_relu_cuda(Registry& registry) { add_kernels<float>(registry); }

}  // namespace onward
