#include <cstring>

#include "ops/constant/constant.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void run(const KernelSpec& spec, const KernelContext& context) {
  const HostTensor value = constant_value(spec.attributes);
  if (value.bytes()) std::memcpy(context.outputs[0], value.data(), value.bytes());
}

}  // namespace

void register_constant_cpu(Registry& registry) {
  registry.add(KernelDef{.op = {"", "Constant"}, .dtype = DType::kUndefined, .make = make_function_kernel<run>});
}

}  // namespace onward
