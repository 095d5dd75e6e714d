#include <algorithm>

#include "ops/core/registry.h"

namespace onward {
namespace {

template <typename T>
void count_once(const KernelSpec& spec, const KernelContext& context) {
  const int64_t count = spec.outputs[0].count();
  const T* x = context.in<T>(0);
  T* y = context.out<T>(0);
  if (spec.rank != 0) {
    std::fill_n(y, count, T(0));
  } else if (x != y) {
    std::copy_n(x, count, y);
  }
}

template <typename T>
void add_kernel(Registry& registry) {
  const std::vector<OperandLayout> same{OperandLayout::kSame};
  registry.add(KernelDef{.op = {kOnwardDomain, "CountOnce"},
                         .dtype = dtype_of<T>(),
                         .input_layouts = same,
                         .output_layouts = same,
                         .make = make_function_kernel<count_once<T>>});
}

}  // namespace

void register_count_once_cpu(Registry& registry) {
  add_kernel<float>(registry);
  add_kernel<double>(registry);
}

}  // namespace onward
