#include "graph/print.h"

#include <fmt/format.h>

namespace onward {
namespace {

constexpr int64_t kMaxShownElements = 8;

// The elements of a small numeric constant: shapes and axes explain the nodes that read them.
std::string elements(const HostTensor& tensor) {
  if (tensor.empty() || tensor.count() > kMaxShownElements) return "";
  if (is_integer(tensor.dtype()) || tensor.dtype() == DType::kBool) {
    return fmt::format(" = [{}]", fmt::join(tensor.to_int64(), ","));
  }
  return is_floating(tensor.dtype()) ? fmt::format(" = [{}]", fmt::join(tensor.to_double(), ",")) : "";
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string declaration(const Value& value) const {
    std::string text = fmt::format("%{}: {}", value.name(), value.type.text());
    if (options_.distributions && value.distribution != Distribution::kUnknown) {
      text += " " + distribution_name(value.distribution);
    }
    return text;
  }

  std::string node(const Node& node) const {
    std::vector<std::string> outputs, inputs;
    for (const Value* value : node.outputs()) outputs.push_back(value ? declaration(*value) : "-");
    for (const Value* value : node.inputs()) inputs.push_back(value ? "%" + value->name() : "-");
    std::string text =
        fmt::format("{} = {}({})", fmt::join(outputs, ", "), to_string(node.op()), fmt::join(inputs, ", "));
    if (options_.attributes && node.attributes.size()) text += " " + to_string(node.attributes);
    const std::string& origin = node.origin.empty() ? node.name : node.origin;
    if (options_.origins && !origin.empty()) text += "  # " + origin;
    return text;
  }

 private:
  const PrintOptions& options_;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  const Printer printer(options);
  std::string text;
  for (const Value* value : graph.inputs()) {
    text += fmt::format("{} {}\n", role_name(value->role), printer.declaration(*value));
  }
  for (Role role : {Role::kParameter, Role::kState, Role::kConstant}) {
    for (const Value* value : graph.values_with_role(role)) {
      const std::string shown = role == Role::kConstant ? elements(value->data) : "";
      text += fmt::format("{} {}{}\n", role_name(role), printer.declaration(*value), shown);
    }
  }
  for (const auto& node : graph.nodes()) text += printer.node(*node) + "\n";
  for (const Value* value : graph.outputs()) text += fmt::format("output %{}\n", value->name());
  for (const ParameterGradient& pair : graph.gradients()) {
    text += fmt::format("gradient %{} <- %{}\n", pair.parameter->name(), pair.gradient->name());
  }
  for (const StateUpdate& update : graph.updates()) {
    text += fmt::format("update %{} <- %{}\n", update.state->name(), update.updated->name());
  }
  return text;
}

}  // namespace onward
