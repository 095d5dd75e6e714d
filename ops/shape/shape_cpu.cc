#include <algorithm>

#include "ops/core/registry.h"
#include "ops/shape/shape_range.h"

namespace onward {
namespace {

void run(const KernelSpec& spec, const KernelContext& context) {
  const Shape part = shape_range(spec.inputs[0].shape, spec.attributes);
  std::copy(part.begin(), part.end(), context.out<int64_t>(0));
}

void size(const KernelSpec& spec, const KernelContext& context) { *context.out<int64_t>(0) = spec.inputs[0].count(); }

}  // namespace

void register_shape_cpu(Registry& registry) {
  registry.add(KernelDef{.op = {"", "Shape"}, .dtype = DType::kUndefined, .make = make_function_kernel<run>});
  registry.add(KernelDef{.op = {"", "Size"}, .dtype = DType::kUndefined, .make = make_function_kernel<size>});
}

}  // namespace onward
