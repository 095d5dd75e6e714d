#include "passes/untie_states.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/state_source.h"

namespace onward {
namespace {

// Every input at which a node keeps state, with the stored tensor behind it, in order of nodes.
std::vector<std::pair<Value*, Use>> find_states(const Graph& graph, const Registry& registry) {
  std::vector<std::pair<Value*, Use>> states;
  for (const auto& node : graph.nodes()) {
    const OpDef* def = registry.find(node->op());
    for (const StatePair& pair : def ? def->states : std::vector<StatePair>{}) {
      Value* source = state_source(node->input(static_cast<std::size_t>(pair.input)));
      if (source && !source->data.empty()) states.emplace_back(source, Use{node.get(), pair.input});
    }
  }
  return states;
}

// Whether anything but state inputs reads the value, through Identity nodes or directly.
bool has_other_use(const Value& value, const std::vector<std::pair<Value*, Use>>& states) {
  return std::any_of(value.uses().begin(), value.uses().end(), [&](const Use& use) {
    if (use.node->is("Identity")) return has_other_use(*use.node->output(0), states);
    return std::none_of(states.begin(), states.end(), [&](const auto& state) { return state.second == use; });
  });
}

std::string node_label(const Node& node) { return node.name.empty() ? node.output(0)->name() : node.name; }

void run(Graph& graph, PassContext& context) {
  const auto states = find_states(graph, context.registry);
  std::unordered_set<const Value*> owned;
  std::unordered_map<const Value*, bool> shared_elsewhere;
  for (const auto& [value, use] : states) shared_elsewhere[value] = has_other_use(*value, states);
  for (const auto& [value, use] : states) {
    Value* own = value;
    if (shared_elsewhere.at(value) || !owned.insert(value).second) {
      own = &graph.add_data(fmt::format("{}.{}", value->name(), node_label(*use.node)), value->data, Role::kState);
      context.untied.push_back({own->name(), value->name(), use.node->output(0)->name(), use.index});
    } else {
      value->role = Role::kState;
    }
    if (shared_elsewhere.at(value) && value->role == Role::kState) value->role = Role::kParameter;
    graph.set_input(*use.node, static_cast<std::size_t>(use.index), own);
  }
}

}  // namespace

Pass untie_states_pass() { return {.name = "untie-states", .run = run}; }

}  // namespace onward
