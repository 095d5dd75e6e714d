// The norm: every chunk of the operands is summed by a block, in double, and one block adds the chunks in their order.
#include "ops/core/cuda/tensor_list.h"
#include "ops/core/cuda/warp.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

template <typename T>
__global__ void __launch_bounds__(kListThreads) squares_kernel(TensorList<1> list, double* sums) {
  const Chunk chunk = list.chunk(blockIdx.x);
  const T* x = list.in<T>(0, chunk);
  double sum = 0;
  walk_chunk(
      chunk.count,
      [&](int64_t i) {
        const auto pack = load_pack<4>(x + i);
#pragma unroll
        for (int k = 0; k < 4; ++k) sum += static_cast<double>(pack.at[k]) * static_cast<double>(pack.at[k]);
      },
      [&](int64_t i) { sum += static_cast<double>(x[i]) * static_cast<double>(x[i]); });
  sum = block_sum<kListThreads>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kListThreads) root_kernel(const double* sums, int64_t chunks, double* norm) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < chunks; i += kListThreads) sum += sums[i];
  sum = block_sum<kListThreads>(sum);
  if (threadIdx.x == 0) *norm = sqrt(sum);
}

template <typename T>
class GlobalNormKernel final : public Kernel {
 public:
  explicit GlobalNormKernel(const KernelSpec& spec) : operands_(spec.inputs) {}
  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(operands_.chunks) * sizeof(double); }
  void run(const KernelContext& context) override {
    auto* sums = static_cast<double*>(context.workspace);
    for_each_list<1>(
        operands_.elements, [&](int, std::size_t i) { return context.inputs[i]; },
        [&](const TensorList<1>& list, const LaunchShape& shape, int64_t before) {
          launch(squares_kernel<T>, shape, context.stream, list, sums + before);
        });
    launch(root_kernel, {.grid = dim3(1), .block = dim3(kListThreads)}, context.stream, sums, operands_.chunks,
           context.out<double>(0));
  }

 private:
  ListedOperands operands_;
};

template <typename T>
__global__ void __launch_bounds__(kListThreads) scale_kernel(TensorList<2> list, double limit, const double* norm) {
  const double ratio = limit / (*norm + 1e-6);
  const T factor = static_cast<T>(ratio > 1 ? 1 : ratio);  // NaN stays NaN
  const Chunk chunk = list.chunk(blockIdx.x);
  const T* x = list.in<T>(0, chunk);
  T* y = list.out<T>(1, chunk);
  walk_chunk(
      chunk.count,
      [&](int64_t i) {
        auto pack = load_pack<4>(x + i);
#pragma unroll
        for (int k = 0; k < 4; ++k) pack.at[k] *= factor;
        store_pack(y + i, pack);
      },
      [&](int64_t i) { y[i] = x[i] * factor; });
}

template <typename T>
class ClipByNormKernel final : public Kernel {
 public:
  explicit ClipByNormKernel(const KernelSpec& spec) : limit_(spec.attributes.get_double("limit")) {
    for (const Operand& operand : spec.outputs) elements_.push_back(operand.count());
  }
  void run(const KernelContext& context) override {
    for_each_list<2>(
        elements_,
        [&](int k, std::size_t i) -> const void* { return k == 0 ? context.inputs[i + 1] : context.outputs[i]; },
        [&](const TensorList<2>& list, const LaunchShape& shape, int64_t) {
          launch(scale_kernel<T>, shape, context.stream, list, limit_, context.in<double>(0));
        });
  }

 private:
  double limit_;
  std::vector<int64_t> elements_;
};

template <typename K>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  return std::make_unique<K>(spec);
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(KernelDef{.op = {kOnwardDomain, "GlobalNorm"},
                         .backend = Backend::kCuda,
                         .dtype = dtype_of<T>(),
                         .make = make<GlobalNormKernel<T>>});
  // Its first input, the norm, is float64 whatever the tensors: registered under it, chosen by the outputs.
  registry.add(KernelDef{.op = {kOnwardDomain, "ClipByNorm"},
                         .backend = Backend::kCuda,
                         .dtype = DType::kFloat64,
                         .accepts = first_output_is<T>,
                         .make = make<ClipByNormKernel<T>>});
}

}  // namespace

void register_gradient_norm_cuda(Registry& registry) { add_kernels<float>(registry); }

}  // namespace onward
