#include "passes/constant_node.h"

#include "ops/constant/constant.h"

namespace onward {
Value& replace_by_constant(Graph& graph, Node& node, std::size_t index, HostTensor data) {
  Value& old = *node.output(index);
  const std::string name = old.name();
  Value& constant = graph.add_data(name, std::move(data));
  graph.replace_uses(old, constant);
  graph.rename(old, name + ".folded");
  graph.rename(constant, name);
  return constant;
}

void replace_constant_node(Graph& graph, Node& node) {
  replace_by_constant(graph, node, 0, constant_value(node));
  graph.erase(node);
}

}  // namespace onward
