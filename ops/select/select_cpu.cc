#include "ops/core/copy.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void run(const KernelSpec& spec, const KernelContext& context) {
  const std::size_t chosen = *context.in<bool>(0) ? 1 : 2;
  parallel_copy(context.inputs[chosen], context.outputs[0], spec.outputs[0].bytes());
}

}  // namespace

void register_select_cpu(Registry& registry) {
  const OperandLayout plain = OperandLayout::kRowMajor, same = OperandLayout::kSame;
  registry.add(KernelDef{.op = {kOnwardDomain, "Select"},
                         .dtype = DType::kUndefined,
                         .input_layouts = {plain, same, same},
                         .output_layouts = {same},
                         .make = make_function_kernel<run>});
}

}  // namespace onward
