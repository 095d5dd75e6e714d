#include <cstring>

#include "ops/core/registry.h"

namespace onward {
namespace {

void run(const KernelSpec& spec, const KernelContext& context) {
  const std::size_t bytes = spec.outputs[0].bytes(), size = dtype_size(spec.outputs[0].dtype);
  char* out = context.out<char>(0);
  if (!spec.attributes.has("value")) {
    if (bytes) std::memset(out, 0, bytes);
    return;
  }
  const HostTensor value = spec.attributes.get_tensor("value");
  for (std::size_t at = 0; at < bytes; at += size) std::memcpy(out + at, value.data(), size);
}

}  // namespace

void register_constant_of_shape_cpu(Registry& registry) {
  registry.add(KernelDef{.op = {"", "ConstantOfShape"}, .dtype = DType::kUndefined, .make = make_function_kernel<run>});
}

}  // namespace onward
