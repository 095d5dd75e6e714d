#include "passes/empty_share.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace onward {
namespace {

[[noreturn]] void differ(const std::string& what) {
  throw Error(ErrorKind::kModel,
              fmt::format("expected the graphs of 2 and 3 rows to correspond, so that a replica without samples "
                          "has one too, found a difference in {}; give every replica a sample",
                          what));
}

int64_t at_zero(int64_t two, int64_t three) { return two - 2 * (three - two); }

std::vector<int64_t> at_zero(const std::vector<int64_t>& two, const std::vector<int64_t>& three,
                             const std::string& what) {
  if (two.size() != three.size()) differ(what);
  std::vector<int64_t> zero;
  for (std::size_t i = 0; i < two.size(); ++i) zero.push_back(at_zero(two[i], three[i]));
  return zero;
}

void extrapolate(Value& two, const Value& three) {
  if (two.type.is_static() != three.type.is_static() || two.role != three.role) differ(two.name());
  if (two.role == Role::kConstant && is_integer(two.type.dtype)) {
    const std::vector<int64_t> values = at_zero(two.data.to_int64(), three.data.to_int64(), two.name());
    two.data = HostTensor::from<int64_t>(two.data.shape(), values).cast(two.type.dtype);
  } else if (two.type.is_static()) {
    const Shape shape = at_zero(two.type.shape(), three.type.shape(), two.name());
    if (!two.data.empty() && shape != two.data.shape()) {
      if (element_count(shape) != 0) differ(two.name());
      two.data = HostTensor(two.type.dtype, shape);
    }
    two.type = TensorType(two.type.dtype, shape);
  }
}

void extrapolate(Node& two, const Node& three) {
  if (two.op() != three.op() || two.inputs().size() != three.inputs().size()) differ(two.text());
  Attributes zero = two.attributes;
  for (const auto& [name, value] : three.attributes) {
    if (!two.attributes.has(name)) differ(two.text());
    if (const auto* number = std::get_if<int64_t>(&value))
      zero.set(name, at_zero(two.attributes.get_int(name), *number));
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      zero.set(name, at_zero(two.attributes.get_ints(name), *list, two.text()));
    }
  }
  two.attributes = std::move(zero);
}

}  // namespace

void extrapolate_to_no_rows(Graph& two, const Graph& three) {
  const std::vector<Value*> values = two.value_list(), other_values = three.value_list();
  const std::vector<Node*> nodes = two.node_list(), other_nodes = three.node_list();
  if (values.size() != other_values.size() || nodes.size() != other_nodes.size()) differ("the number of nodes");
  for (std::size_t i = 0; i < values.size(); ++i) extrapolate(*values[i], *other_values[i]);
  for (std::size_t i = 0; i < nodes.size(); ++i) extrapolate(*nodes[i], *other_nodes[i]);
}

}  // namespace onward
