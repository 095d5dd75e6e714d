#include "ops/core/kernel.h"

#include <algorithm>

namespace onward {

std::string backend_name(Backend backend) { return backend == Backend::kCpu ? "cpu" : "cuda"; }

namespace {

OperandLayout layout_at(const std::vector<OperandLayout>& layouts, std::size_t i) {
  return layouts.empty() ? OperandLayout::kRowMajor : layouts[std::min(i, layouts.size() - 1)];
}

}  // namespace

OperandLayout KernelDef::input_layout(std::size_t i) const { return layout_at(input_layouts, i); }
OperandLayout KernelDef::output_layout(std::size_t i) const { return layout_at(output_layouts, i); }

DType kernel_dtype(const KernelSpec& spec) {
  for (const auto* operands : {&spec.inputs, &spec.outputs}) {
    for (const Operand& operand : *operands) {
      if (operand.present && is_floating(operand.dtype)) return operand.dtype;
    }
  }
  return DType::kUndefined;
}

}  // namespace onward
