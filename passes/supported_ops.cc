#include "passes/supported_ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace onward {
namespace {

bool is_imported(const Graph& graph, const std::string& domain) {
  return domain == kOnwardDomain || graph.opsets.contains(domain);
}

std::string why_unsupported(const Graph& graph, const Node& node, const Registry& registry) {
  if (!is_imported(graph, node.op().domain)) return "an operator set that the file does not import";
  const OpDef* def = registry.find(node.op());
  if (!def) return "unknown";
  if (def->versions.empty()) return "";
  const int64_t opset = opset_of(graph, node.op().domain);
  if (opset >= def->versions.front()) return "";
  return fmt::format("known from opset {} on", def->versions.front());
}

// A stored tensor or input of a type that no kernel of the op takes; what lies between nodes is known only when all of
// them are.
std::string why_untyped(const Node& node, const PassContext& context) {
  const auto kernels = context.registry.kernels(node.op(), context.options.backend);
  for (const Value* input : node.inputs()) {
    if (!input || input->producer() || !is_floating(input->type.dtype)) continue;
    const auto takes = [&](const KernelDef* kernel) {
      return kernel->dtype == input->type.dtype || kernel->dtype == DType::kUndefined;
    };
    if (!kernels.empty() && std::none_of(kernels.begin(), kernels.end(), takes))
      return fmt::format("no kernel for '{}' of type {}", input->name(), dtype_name(input->type.dtype));
  }
  return "";
}

std::string line_of(const Graph& graph, const Node& node, const std::string& reason) {
  const std::string& domain = node.op().domain;
  const auto import = graph.opsets.find(domain);
  const std::string opset = import == graph.opsets.end() ? "not imported" : std::to_string(import->second);
  return fmt::format("\n  {}: domain {}, opset {}, {}", node.text(), domain_text(domain), opset, reason);
}

// Ops of a newer opset than any that was known when this was written may mean something else by then.
void warn_about_newer_opset(const Graph& graph, PassContext& context) {
  int64_t newest = 0;
  for (const auto& [id, def] : context.registry.ops()) {
    if (id.domain.empty() && !def.versions.empty()) newest = std::max<int64_t>(newest, def.versions.back());
  }
  const auto import = graph.opsets.find("");
  if (import == graph.opsets.end() || import->second <= newest) return;
  context.warnings.push_back(fmt::format(
      "the file has opset {}, newer than {}, the newest that this program knows: its operations are read as "
      "those of {}; export the model with that opset if results are not as expected",
      import->second, newest, newest));
}

void check(Graph& graph, PassContext& context) {
  warn_about_newer_opset(graph, context);
  std::string lines, more;
  int count = 0;
  for (const auto& node : graph.nodes()) {
    if (const std::string reason = why_unsupported(graph, *node, context.registry); !reason.empty()) {
      lines += line_of(graph, *node, reason);
      ++count;
      continue;
    }
    if (const std::string reason = why_untyped(*node, context); !reason.empty()) more += line_of(graph, *node, reason);
  }
  if (count == 0) return;  // types are looked at again when all are known
  throw Error(ErrorKind::kModel,
              fmt::format("expected operations that `onward ops` lists, found {} nodes with others:{}{}", count, lines,
                          more.empty() ? "" : "\nand these with types that they do not take:" + more));
}

}  // namespace

int64_t opset_of(const Graph& graph, const std::string& domain) {
  if (domain == kOnwardDomain) return 1;
  const auto import = graph.opsets.find(domain);
  if (import != graph.opsets.end()) return import->second;
  throw Error(ErrorKind::kModel,
              fmt::format("expected the file to import the operator set '{}' that its nodes use, found no "
                          "import of it",
                          domain_text(domain)));
}

Pass supported_ops_pass() { return {.name = "supported-ops", .run = check}; }

}  // namespace onward
