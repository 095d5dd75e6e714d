#include "passes/prune.h"

#include <algorithm>

namespace onward {
namespace {

class Prune {
 public:
  Prune(Graph& graph, const Registry& registry) : graph_(graph), registry_(registry) {
    kept_.insert(graph.outputs().begin(), graph.outputs().end());
    for (const StateUpdate& update : graph.updates()) kept_.insert(update.updated);
    for (const ParameterGradient& pair : graph.gradients()) kept_.insert(pair.gradient);
  }

  void run() {
    const std::vector<Node*> nodes = graph_.node_list();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) visit(**node);
    for (Value* value : graph_.value_list()) visit(*value);
  }

 private:
  bool used(const Value* value) const { return value && (!value->uses().empty() || kept_.contains(value)); }

  // Users were visited before.
  void visit(Node& node) {
    const std::vector<Value*>& outputs = node.outputs();
    if (std::none_of(outputs.begin(), outputs.end(), [&](Value* value) { return used(value); })) {
      graph_.erase(node);
      return;
    }
    std::size_t needed = static_cast<std::size_t>(registry_.op(node.op()).outputs.min);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (used(outputs[i])) needed = std::max(needed, i + 1);
    }
    graph_.drop_outputs_from(node, needed);
  }

  void visit(Value& value) {
    if (value.producer() || used(&value)) return;
    if (value.role == Role::kScalar) graph_.remove_input(value);
    if (value.role == Role::kScalar || value.role == Role::kConstant) graph_.erase(value);
  }

  Graph& graph_;
  const Registry& registry_;
  std::unordered_set<const Value*> kept_;
};

}  // namespace

Pass prune_pass() {
  return {.name = "prune", .run = [](Graph& graph, PassContext& context) { Prune(graph, context.registry).run(); }};
}

}  // namespace onward
