#include "runtime/choose_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "ops/core/layout.h"
#include "runtime/autotune.h"

namespace onward {

namespace {

void check_static(const Node& node) {
  for (const auto* list : {&node.inputs(), &node.outputs()}) {
    for (const Value* value : *list) {
      if (!value || value->type.is_static()) continue;
      throw Error(ErrorKind::kModel,
                  fmt::format("{}: expected a static type for '{}', found {}; specialise the graph first", node.text(),
                              value->name(), value->type.text()));
    }
  }
}

bool is_view(const OpDef& op, const Node& node) {
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const Value* output = node.output(i);
    const auto covers = [&](const ViewPair& pair) {
      const Value* input = node.input(static_cast<std::size_t>(pair.input));
      return pair.output == static_cast<int>(i) && input && input->type.dtype == output->type.dtype &&
             element_count(input->type.shape()) == element_count(output->type.shape());
    };
    if (output && std::none_of(op.views.begin(), op.views.end(), covers)) return false;
  }
  return !op.views.empty();
}

std::string missing_text(const Graph& graph, const Node& node, const KernelSpec& spec, Backend backend) {
  const auto opset = graph.opsets.find(node.op().domain);
  return fmt::format("\n  {}: op {}, domain {}, opset {}, {} on {}", node.text(), node.op().name,
                     domain_text(node.op().domain), opset == graph.opsets.end() ? "-" : std::to_string(opset->second),
                     dtype_name(kernel_dtype(spec)), backend_name(backend));
}

}  // namespace

std::vector<ChosenKernel> choose_kernels(const Graph& graph, const Registry& registry, const PlannerOptions& options) {
  std::vector<ChosenKernel> chosen;
  std::string missing;
  for (const auto& node : graph.nodes()) {
    check_static(*node);
    ChosenKernel entry{node.get(), registry.find(node->op())};
    entry.spec = kernel_spec(*node, options.threads, options.rank, options.replicas);
    entry.spec.winograd = options.winograd || prefers_winograd(entry.spec, registry, options);
    if (!entry.op || !is_view(*entry.op, *node)) {
      entry.kernel = entry.op ? registry.kernel(entry.spec, options.backend, options.max_priority) : nullptr;
      if (!entry.kernel) missing += missing_text(graph, *node, entry.spec, options.backend);
    }
    chosen.push_back(std::move(entry));
  }
  if (!missing.empty()) {
    throw Error(ErrorKind::kModel, "no kernel exists for these nodes (`onward ops` lists what there is):" + missing);
  }
  return chosen;
}

}  // namespace onward
