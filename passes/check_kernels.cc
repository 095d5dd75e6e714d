#include "passes/check_kernels.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "ops/core/layout.h"
#include "passes/supported_ops.h"

namespace onward {
namespace {

// The type that decides on the kernel; of a node without floating operands that of its first input.
DType deciding_type(const KernelSpec& spec) {
  const DType floating = kernel_dtype(spec);
  return floating == DType::kUndefined && spec.has_input(0) ? spec.inputs[0].dtype : floating;
}

std::string describe(const Graph& graph, const Node& node, const KernelSpec& spec) {
  const std::string& domain = node.op().domain;
  return fmt::format("\n  {}: {}, domain {}, opset {}", node.text(), dtype_name(deciding_type(spec)),
                     domain_text(domain), opset_of(graph, domain));
}

void check(const Graph& graph, const Registry& registry, Backend backend) {
  std::string lines;
  int count = 0;
  for (const auto& node : graph.nodes()) {
    const KernelSpec spec = kernel_spec(*node);
    if (registry.kernel(spec, backend)) continue;
    lines += describe(graph, *node, spec);
    ++count;
  }
  if (count > 0) {
    throw Error(ErrorKind::kModel, fmt::format("expected a {} kernel for every node, found none for {}:{}",
                                               backend_name(backend), count, lines));
  }
}

}  // namespace

Pass check_kernels_pass() {
  return {.name = "check-kernels",
          .run = [](Graph& graph, PassContext& context) { check(graph, context.registry, context.options.backend); },
          .requires_ = {"static"}};
}

Pass supported_types_pass() {
  return {.name = "supported-types",
          .run = [](Graph& graph, PassContext& context) { check(graph, context.registry, Backend::kCpu); },
          .requires_ = {"static"}};
}

}  // namespace onward
