#include "passes/infer_graph.h"

#include <fmt/format.h>

#include <unordered_set>

#include "graph/error.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "passes/fold_node.h"
#include "passes/supported_ops.h"

namespace onward {
namespace {

class Sweep {
 public:
  Sweep(Graph& graph, const BatchSize& batch, bool training, const Registry& registry)
      : graph_(graph), batch_(batch), training_(training), registry_(registry) {
    for (const auto& node : graph.nodes()) from_file_.insert(node->id());
  }

  void run() {
    const auto& nodes = graph_.nodes();
    auto done = nodes.end();  // the last finished node; a rule may insert nodes after it and erase the current one
    while (true) {
      const auto current = done == nodes.end() ? nodes.begin() : std::next(done);
      if (current == nodes.end()) break;
      Node& node = **current;
      // Nodes that a rule adds are in the normal form already.
      if (from_file_.erase(node.id()) > 0 && normalise(node)) continue;
      infer_node(node, registry_);
      if (!fold_node(graph_, node, registry_)) done = current;
    }
  }

 private:
  bool normalise(Node& node) {
    const OpDef& def = registry_.op(node.op());
    if (!def.normalise) return false;
    const std::string text = node.text();
    const int64_t opset = opset_of(graph_, node.op().domain);
    try {
      NormaliseContext context(graph_, node, opset, training_, batch_.exported, batch_.local);
      def.normalise(context);
    } catch (Error& error) {
      error.note(fmt::format("in the normal form of {} (opset {})", text, opset));
      throw;
    }
    return true;
  }

  Graph& graph_;
  BatchSize batch_;
  bool training_;
  const Registry& registry_;
  std::unordered_set<int> from_file_;  // nodes not yet in their normal form
};

}  // namespace

void infer_graph(Graph& graph, const BatchSize& batch, bool training, const Registry& registry) {
  Sweep(graph, batch, training, registry).run();
}

}  // namespace onward
