#pragma once
#include <memory>
#include <type_traits>

#include "ops/conv/geometry.h"
#include "ops/core/registry.h"

namespace onward {

// Registers a library's convolution for the three directions, ahead of the plain kernels: activations channels-last,
// weights, their gradient and the bias row-major.
template <typename Forward, typename GradInput, typename GradWeight>
void add_fast_conv_kernels(Registry& registry, DType dtype, bool (*accepts)(const KernelSpec&)) {
  const auto last = OperandLayout::kChannelsLast, row = OperandLayout::kRowMajor;
  KernelDef kernel{.op = kConv,
                   .dtype = dtype,
                   .priority = 10,
                   .input_layouts = {last, row, row},
                   .output_layouts = {last},
                   .accepts = accepts};
  const auto add = [&]<typename K>(const OpId& op, std::type_identity<K>) {
    kernel.op = op;
    kernel.make = [](const KernelSpec& spec) -> std::unique_ptr<Kernel> { return std::make_unique<K>(spec); };
    registry.add(kernel);
  };
  add(kConv, std::type_identity<Forward>());
  add(kConvGradInput, std::type_identity<GradInput>());
  kernel.input_layouts = {last, last};
  kernel.output_layouts = {row};
  add(kConvGradWeight, std::type_identity<GradWeight>());
}

}  // namespace onward
