#include "passes/emit.h"

#include "ops/core/infer_context.h"

namespace onward {

Node& emit_node(Graph& graph, const Registry& registry, NewNode node, Node* before) {
  Node& added =
      graph.add_node(std::move(node.op), std::move(node.inputs), node.outputs, std::move(node.attributes), before);
  added.origin = std::move(node.origin);
  infer_node(added, registry);
  return added;
}

void replace_output(Graph& graph, Value& old, Value& replacement) {
  const std::vector<Value*> outputs = graph.outputs();
  for (Value* output : outputs) graph.remove_output(*output);
  for (Value* output : outputs) graph.add_output(output == &old ? replacement : *output);
}

void take_name(Graph& graph, Value& old, Value& replacement, const std::string& suffix) {
  const std::string name = old.name();
  graph.rename(old, name + "." + suffix);
  graph.rename(replacement, name);
}

}  // namespace onward
