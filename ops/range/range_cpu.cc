#include "ops/core/registry.h"

namespace onward {
namespace {

template <typename T>
void fill(const KernelSpec& spec, const KernelContext& context) {
  const T start = *context.in<T>(0), delta = *context.in<T>(2);
  for (int64_t i = 0; i < spec.outputs[0].count(); ++i)
    context.out<T>(0)[i] = static_cast<T>(start + static_cast<T>(i) * delta);
}

void integers(const KernelSpec& spec, const KernelContext& context) {
  spec.outputs[0].dtype == DType::kInt32 ? fill<int32_t>(spec, context) : fill<int64_t>(spec, context);
}

bool is_int32_or_int64(const KernelSpec& spec) {
  return spec.outputs[0].dtype == DType::kInt32 || spec.outputs[0].dtype == DType::kInt64;
}

}  // namespace

void register_range_cpu(Registry& registry) {
  const OpId op{"", "Range"};
  registry.add(KernelDef{.op = op, .dtype = DType::kFloat32, .make = make_function_kernel<fill<float>>});
  registry.add(KernelDef{.op = op, .dtype = DType::kFloat64, .make = make_function_kernel<fill<double>>});
  registry.add(KernelDef{
      .op = op, .dtype = DType::kUndefined, .accepts = is_int32_or_int64, .make = make_function_kernel<integers>});
}

}  // namespace onward
