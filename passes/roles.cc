#include "passes/roles.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/constant_node.h"

namespace onward {
namespace {

bool contains(const std::vector<int>& list, int index) {
  return std::find(list.begin(), list.end(), index) != list.end();
}

// What one reader makes of a stored float.
Role role_of_use(const Use& use, const Registry& registry) {
  const OpDef* def = registry.find(use.node->op());
  if (!def) return Role::kParameter;
  const auto is_state = [&](const StatePair& pair) { return pair.input == use.index; };
  if (std::any_of(def->states.begin(), def->states.end(), is_state)) return Role::kState;
  return contains(def->no_gradient_inputs, use.index) ? Role::kConstant : Role::kParameter;
}

Role role_of(const Value& value, const Registry& registry) {
  if (!is_floating(value.type.dtype)) return Role::kConstant;
  bool state = false;
  for (const Use& use : value.uses()) {
    const Role role = role_of_use(use, registry);
    if (role == Role::kParameter) return role;
    state |= role == Role::kState;
  }
  return state ? Role::kState : Role::kConstant;
}

std::string readers(const Value& value) {
  std::vector<std::string> texts;
  for (const Use& use : value.uses()) texts.push_back(use.node->text());
  return fmt::format("{}", fmt::join(texts, ", "));
}

void warn_about_parameters(const Graph& graph, PassContext& context) {
  std::vector<std::string> scalars;
  for (const Value* value : graph.values_with_role(Role::kParameter)) {
    if (value->data.shape().empty()) {
      scalars.push_back("'" + value->name() + "'");
    } else if (value->uses().size() > 1) {
      context.warnings.push_back(
          fmt::format("the parameter '{}' is read by {} nodes and stays one tensor in training: {}", value->name(),
                      value->uses().size(), readers(*value)));
    }
  }
  if (!scalars.empty()) {
    context.warnings.push_back(fmt::format(
        "scalar initializers are trained as parameters, as all others are: {}; if they are constants of the "
        "model (an epsilon, a factor), name them in --freeze",
        fmt::join(scalars, ", ")));
  }
}

void warn_about_constant_weights(const Graph& graph, PassContext& context) {
  for (const auto& node : graph.nodes()) {
    if (!node->is("Conv") && !node->is("Gemm") && !node->is("MatMul")) continue;
    const Value* weight = node->input(1);
    if (weight && weight->role == Role::kConstant && is_floating(weight->type.dtype)) {
      context.warnings.push_back(
          fmt::format("the weights '{}' of {} are not trained: the file has them as a Constant node; "
                      "store them as an initializer to train them",
                      weight->name(), node->text()));
    }
  }
}

void assign_roles(Graph& graph, PassContext& context) {
  for (Value* value : graph.values_with_role(Role::kConstant)) value->role = role_of(*value, context.registry);
  for (Node* node : graph.node_list()) {
    if (node->is("Constant")) replace_constant_node(graph, *node);
  }
  warn_about_parameters(graph, context);
  warn_about_constant_weights(graph, context);
}

}  // namespace

Pass roles_pass() { return {.name = "roles", .run = assign_roles, .ensures = {"roles"}}; }

}  // namespace onward
