// Every chunk of the operands gets a verdict; one block joins them.
#include <cmath>

#include "ops/core/cuda/tensor_list.h"
#include "ops/core/cuda/warp.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

template <typename T>
__device__ int is_not_finite(T x) {
  return !(x - x == T(0));
}

template <typename T>
__global__ void __launch_bounds__(kListThreads) check_kernel(TensorList<1> list, int32_t* bad) {
  const Chunk chunk = list.chunk(blockIdx.x);
  const T* x = list.in<T>(0, chunk);
  int found = 0;
  walk_chunk(
      chunk.count,
      [&](int64_t i) {
        const auto pack = load_pack<4>(x + i);
#pragma unroll
        for (int k = 0; k < 4; ++k) found += is_not_finite(pack.at[k]);
      },
      [&](int64_t i) { found += is_not_finite(x[i]); });
  found = block_sum<kListThreads>(found);
  if (threadIdx.x == 0) bad[blockIdx.x] = found > 0;
}

__global__ void __launch_bounds__(kListThreads) verdict_kernel(const int32_t* bad, int64_t chunks, bool* finite) {
  int found = 0;
  for (int64_t i = threadIdx.x; i < chunks; i += kListThreads) found += bad[i];
  found = block_sum<kListThreads>(found);
  if (threadIdx.x == 0) *finite = found == 0;
}

template <typename T>
class AllFiniteKernel final : public Kernel {
 public:
  explicit AllFiniteKernel(const KernelSpec& spec) : operands_(spec.inputs) {}
  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(operands_.chunks) * sizeof(int32_t); }
  void run(const KernelContext& context) override {
    auto* bad = static_cast<int32_t*>(context.workspace);
    for_each_list<1>(
        operands_.elements, [&](int, std::size_t i) { return context.inputs[i]; },
        [&](const TensorList<1>& list, const LaunchShape& shape, int64_t before) {
          launch(check_kernel<T>, shape, context.stream, list, bad + before);
        });
    launch(verdict_kernel, {.grid = dim3(1), .block = dim3(kListThreads)}, context.stream, bad, operands_.chunks,
           context.out<bool>(0));
  }

 private:
  ListedOperands operands_;
};

}  // namespace

void register_all_finite_cuda(Registry& registry) {
  registry.add(KernelDef{.op = {kOnwardDomain, "AllFinite"},
                         .backend = Backend::kCuda,
                         .dtype = DType::kFloat32,
                         .make = [](const KernelSpec& spec) -> std::unique_ptr<Kernel> {
                           return std::make_unique<AllFiniteKernel<float>>(spec);
                         }});
}

}  // namespace onward
