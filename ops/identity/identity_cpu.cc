#include "ops/core/copy.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void run(const KernelSpec& spec, const KernelContext& context) {
  parallel_copy(context.inputs[0], context.outputs[0], spec.outputs[0].bytes());
}

}  // namespace

void register_identity_cpu(Registry& registry) {
  const std::vector<OperandLayout> same{OperandLayout::kSame};
  registry.add(KernelDef{.op = {"", "Identity"},
                         .dtype = DType::kUndefined,
                         .input_layouts = same,
                         .output_layouts = same,
                         .make = make_function_kernel<run>});
}

}  // namespace onward
