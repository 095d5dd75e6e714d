#include "passes/constant_node.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace onward {
namespace {

HostTensor value_of(const Node& node) {
  const Attributes& attributes = node.attributes;
  if (attributes.has("value")) return attributes.get_tensor("value");
  if (attributes.has("value_float")) return HostTensor::scalar(static_cast<float>(attributes.get_double("value_float")));
  if (attributes.has("value_int")) return HostTensor::scalar(attributes.get_int("value_int"));
  if (attributes.has("value_floats")) {
    const std::vector<float> values = attributes.get_floats("value_floats");
    return HostTensor::from<float>({static_cast<int64_t>(values.size())}, values);
  }
  if (attributes.has("value_ints")) {
    const std::vector<int64_t> values = attributes.get_ints("value_ints");
    return HostTensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
  }
  throw Error(ErrorKind::kModel, fmt::format("expected a Constant node with a tensor of numbers, found {} in {}",
                                             to_string(attributes), node.text()));
}

}  // namespace

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
  replace_by_constant(graph, node, 0, value_of(node));
  graph.erase(node);
}

}  // namespace onward
