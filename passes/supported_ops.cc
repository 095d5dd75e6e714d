#include "passes/supported_ops.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace onward {
namespace {

std::string why_unsupported(const Graph& graph, const Node& node, const Registry& registry) {
  const OpDef* def = registry.find(node.op());
  if (!def) return "unknown";
  if (def->versions.empty()) return "";
  const int64_t opset = opset_of(graph, node.op().domain);
  if (opset >= def->versions.front()) return "";
  return fmt::format("known from opset {} on", def->versions.front());
}

void check(Graph& graph, PassContext& context) {
  std::string lines;
  int count = 0;
  for (const auto& node : graph.nodes()) {
    const std::string reason = why_unsupported(graph, *node, context.registry);
    if (reason.empty()) continue;
    const std::string& domain = node->op().domain;
    const auto import = graph.opsets.find(domain);
    const std::string opset = import == graph.opsets.end() ? "not imported" : std::to_string(import->second);
    lines += fmt::format("\n  {}: domain {}, opset {}, {}", node->text(), domain.empty() ? "ai.onnx" : domain, opset,
                         reason);
    ++count;
  }
  if (count > 0) {
    throw Error(
        ErrorKind::kModel,
        fmt::format("expected operations that `onward ops` lists, found {} nodes with others:{}", count, lines));
  }
}

}  // namespace

int64_t opset_of(const Graph& graph, const std::string& domain) {
  if (domain == kOnwardDomain) return 1;
  const auto import = graph.opsets.find(domain);
  if (import != graph.opsets.end()) return import->second;
  throw Error(ErrorKind::kModel,
              fmt::format("expected the file to import the operator set '{}' that its nodes use, found no "
                          "import of it",
                          domain.empty() ? "ai.onnx" : domain));
}

Pass supported_ops_pass() { return {.name = "supported-ops", .run = check}; }

}  // namespace onward
