#include "ops/core/cuda/pointwise.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

// Copies the chosen tensor as units of bytes; nothing when it is in place already.
template <typename Unit>
__global__ void __launch_bounds__(kPointwiseThreads)
    select_kernel(const bool* flag, int64_t count, const Unit* a, const Unit* b, Unit* y) {
  constexpr int kPack = pack_size<Unit>();
  const Unit* from = *flag ? a : b;
  if (from == y) return;
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t p = thread; p < count / kPack; p += threads) {
    store_pack(y + p * kPack, load_pack<kPack>(from + p * kPack));
  }
  const int64_t rest = count / kPack * kPack + thread;
  if (rest < count) y[rest] = from[rest];
}

template <typename Unit>
void select_units(const KernelSpec& spec, const KernelContext& context) {
  const auto count = static_cast<int64_t>(spec.outputs[0].bytes() / sizeof(Unit));
  launch(select_kernel<Unit>, pointwise_shape((count + pack_size<Unit>() - 1) / pack_size<Unit>()), context.stream,
         context.in<bool>(0), count, context.in<Unit>(1), context.in<Unit>(2), context.out<Unit>(0));
}

void select(const KernelSpec& spec, const KernelContext& context) {
  if (spec.outputs[0].bytes() % sizeof(uint32_t) == 0) {
    select_units<uint32_t>(spec, context);
  } else {
    select_units<uint8_t>(spec, context);
  }
}

}  // namespace

void register_select_cuda(Registry& registry) {
  const OperandLayout plain = OperandLayout::kRowMajor, same = OperandLayout::kSame;
  registry.add(KernelDef{.op = {kOnwardDomain, "Select"},
                         .backend = Backend::kCuda,
                         .dtype = DType::kUndefined,
                         .input_layouts = {plain, same, same},
                         .output_layouts = {same},
                         .make = make_function_kernel<select>});
}

}  // namespace onward
