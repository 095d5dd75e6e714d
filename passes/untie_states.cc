#include "passes/untie_states.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/state_source.h"

namespace onward {
namespace {

// An input at which a node keeps state, and the stored tensor behind it.
struct StateRead {
  Value* tensor;
  Use use;
  // What the node reads: the tensor, or an Identity of it.
  Value& value() const { return *use.node->input(static_cast<std::size_t>(use.index)); }
};

// In order of nodes.
std::vector<StateRead> find_states(const Graph& graph, const Registry& registry) {
  std::vector<StateRead> states;
  for (const auto& node : graph.nodes()) {
    const OpDef* def = registry.find(node->op());
    for (const StatePair& pair : def ? def->states : std::vector<StatePair>{}) {
      Value* source = state_source(node->input(static_cast<std::size_t>(pair.input)));
      if (source && !source->data.empty()) states.push_back({source, Use{node.get(), pair.input}});
    }
  }
  return states;
}

// Whether anything but state inputs reads the value, through Identity nodes or directly.
bool has_other_use(const Value& value, const std::vector<StateRead>& states) {
  return std::any_of(value.uses().begin(), value.uses().end(), [&](const Use& use) {
    if (use.node->is("Identity")) return has_other_use(*use.node->output(0), states);
    return std::none_of(states.begin(), states.end(), [&](const StateRead& state) { return state.use == use; });
  });
}

std::string node_label(const Node& node) { return node.name.empty() ? node.output(0)->name() : node.name; }

class StateUntier {
 public:
  StateUntier(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), states_(find_states(graph, context.registry)) {}

  void run() {
    find_owners();
    for (const StateRead& state : states_) {
      if (keeps_tensor(state)) {
        give(state, *state.tensor);
      } else {
        separate(state);
      }
    }
  }

 private:
  // The first that reads the tensor itself, or the first of all. A tensor with other uses has none.
  void find_owners() {
    for (const StateRead& state : states_) {
      if (has_other_use(*state.tensor, states_)) continue;
      const auto [owner, first] = owners_.try_emplace(state.tensor, &state);
      if (!first && &owner->second->value() != state.tensor && &state.value() == state.tensor) owner->second = &state;
    }
  }

  bool keeps_tensor(const StateRead& state) const {
    const auto owner = owners_.find(state.tensor);
    if (owner == owners_.end()) return false;
    // A mean and a variance cannot be one tensor.
    const bool same_kind = owner->second->use.index == state.use.index;
    return owner->second == &state || (context_.options.keep_tied && same_kind);
  }

  void give(const StateRead& state, Value& own) {
    Value& before = state.value();
    own.role = Role::kState;
    graph_.set_input(*state.use.node, static_cast<std::size_t>(state.use.index), &own);
    erase_unread(before);
  }

  void separate(const StateRead& state) {
    ++context_.apart[state.tensor->name()];
    const Value& read = state.value();
    const bool alone = &read != state.tensor && read.uses().size() == 1 && !graph_.is_output(read);
    if (alone) {
      take_place_of_identity(state);
    } else {
      copy(state);
    }
  }

  void take_place_of_identity(const StateRead& state) {
    const std::string name = state.value().name();
    Value& own = graph_.add_data(name, state.tensor->data, Role::kState);
    give(state, own);
    graph_.rename(own, name);
  }

  void copy(const StateRead& state) {
    const Node& node = *state.use.node;
    const std::string name = fmt::format("{}.{}", state.value().name(), node_label(node));
    Value& own = graph_.add_data(name, state.tensor->data, Role::kState);
    context_.untied.push_back({own.name(), state.tensor->name(), node.output(0)->name(), state.use.index});
    give(state, own);
  }

  // Identity nodes that led from the tensor to a state.
  void erase_unread(Value& last) {
    Value* value = &last;
    while (value->producer() && value->uses().empty() && !graph_.is_output(*value)) {
      Node& identity = *value->producer();
      value = identity.input(0);
      graph_.erase(identity);
    }
  }

  Graph& graph_;
  PassContext& context_;
  const std::vector<StateRead> states_;
  std::unordered_map<const Value*, const StateRead*> owners_;
};

}  // namespace

Pass untie_states_pass() {
  return {.name = "untie-states", .run = [](Graph& graph, PassContext& context) { StateUntier(graph, context).run(); }};
}

}  // namespace onward
