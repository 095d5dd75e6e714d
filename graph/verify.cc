#include "graph/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "graph/error.h"

namespace onward {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {
    for (const Value* value : graph.value_list()) known_.insert(value);
  }

  void run() {
    check_values();
    for (const auto& node : graph_.nodes()) check_node(*node);
    check_interface();
    check_updates();
    check_gradients();
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error(ErrorKind::kModel, "the graph is inconsistent: " + fmt::format(format, std::forward<Args>(args)...));
  }

  void check_values() {
    std::unordered_set<const Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.insert(node.get());
    std::unordered_set<std::string> names;
    for (const Value* value : graph_.value_list()) {
      if (!names.insert(value->name()).second) fail("two values are named '{}'", value->name());
      if (graph_.find_value(value->name()) != value) fail("the name '{}' leads to another value", value->name());
      if (const Node* producer = value->producer()) {
        if (!nodes.contains(producer)) fail("the producer of '{}' is not a node of the graph", value->name());
        if (producer->output(static_cast<std::size_t>(value->producer_index())) != value) {
          fail("{} does not make '{}' as output {}", producer->text(), value->name(), value->producer_index());
        }
      }
      for (const Use& use : value->uses()) {
        if (!nodes.contains(use.node)) fail("a user of '{}' is not a node of the graph", value->name());
        if (use.node->input(static_cast<std::size_t>(use.index)) != value) {
          fail("{} does not read '{}' as input {}", use.node->text(), value->name(), use.index);
        }
      }
      check_data(*value);
    }
  }

  void check_data(const Value& value) const {
    const bool stored = value.role == Role::kConstant || value.role == Role::kParameter || value.role == Role::kState;
    if (!stored) return;
    if (value.producer()) fail("{} makes '{}', a {}", value.producer()->text(), value.name(), role_name(value.role));
    if (value.data.empty()) fail("the {} '{}' has no data", role_name(value.role), value.name());
    if (value.data.type() != value.type) {
      fail("the {} '{}' is {} but its data is {}", role_name(value.role), value.name(), value.type.text(),
           value.data.type().text());
    }
  }

  // A value that exists before the first node runs.
  static bool is_source(const Value& value) { return value.role != Role::kIntermediate && value.role != Role::kOutput; }

  void check_node(const Node& node) {
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (const Value* value = node.inputs()[i]) check_input(node, *value, static_cast<int>(i));
    }
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const Value* value = node.outputs()[i];
      if (!value) continue;
      if (!known_.contains(value)) fail("output {} of {} is not a value of the graph", i, node.text());
      if (value->producer() != &node || value->producer_index() != static_cast<int>(i)) {
        fail("'{}' is output {} of {} but names {} as its producer", value->name(), i, node.text(),
             value->producer() ? value->producer()->text() : "nothing");
      }
      made_.insert(value);
    }
  }

  void check_input(const Node& node, const Value& value, int index) const {
    if (!known_.contains(&value)) fail("input {} of {} is not a value of the graph", index, node.text());
    const auto& uses = value.uses();
    if (std::count(uses.begin(), uses.end(), Use{const_cast<Node*>(&node), index}) != 1) {
      fail("'{}' does not know {} as a user of it (input {})", value.name(), node.text(), index);
    }
    if (made_.contains(&value)) return;
    if (value.producer()) fail("{} reads '{}' before {} makes it", node.text(), value.name(), value.producer()->text());
    if (!is_source(value)) fail("{} reads '{}', which nothing makes", node.text(), value.name());
  }

  void check_interface() const {
    std::unordered_set<const Value*> inputs;
    for (const Value* value : graph_.inputs()) {
      if (!known_.contains(value)) fail("an input is not a value of the graph");
      if (value->producer()) fail("the input '{}' is made by {}", value->name(), value->producer()->text());
      if (!inputs.insert(value).second) fail("the input '{}' is listed twice", value->name());
    }
    for (const Value* value : graph_.value_list()) {
      const bool bound = value->role == Role::kInput || value->role == Role::kLabel || value->role == Role::kScalar;
      if (bound && !inputs.contains(value)) {
        fail("'{}' has the role {} but is not among the inputs", value->name(), role_name(value->role));
      }
    }
    for (const Value* value : graph_.outputs()) check_available(value, "output");
  }

  void check_available(const Value* value, const char* what) const {
    if (!known_.contains(value)) fail("an {} is not a value of the graph", what);
    if (!made_.contains(value) && !is_source(*value)) fail("nothing makes the {} '{}'", what, value->name());
  }

  void check_updates() const {
    std::unordered_set<const Value*> states;
    for (const StateUpdate& update : graph_.updates()) {
      check_available(update.state, "updated value");
      check_available(update.updated, "update");
      const Value& state = *update.state;
      if (state.role != Role::kState && state.role != Role::kParameter) {
        fail("'{}' is updated but is neither a parameter nor state", state.name());
      }
      if (!states.insert(&state).second) fail("'{}' is updated twice", state.name());
      // Before shapes are inferred the new value has no type yet.
      const TensorType& type = update.updated->type;
      if (type.dtype != DType::kUndefined && type.is_static() && type != state.type) {
        fail("'{}', {}, is updated with '{}', {}", state.name(), state.type.text(), update.updated->name(),
             type.text());
      }
    }
  }

  void check_gradients() const {
    std::unordered_set<const Value*> parameters;
    for (const ParameterGradient& pair : graph_.gradients()) {
      check_available(pair.parameter, "differentiated value");
      check_available(pair.gradient, "gradient");
      if (pair.parameter->role != Role::kParameter)
        fail("'{}' has a gradient but is no parameter", pair.parameter->name());
      if (!parameters.insert(pair.parameter).second) fail("'{}' has two gradients", pair.parameter->name());
      if (pair.gradient->type != pair.parameter->type) {
        fail("'{}', {}, has the gradient '{}', {}", pair.parameter->name(), pair.parameter->type.text(),
             pair.gradient->name(), pair.gradient->type.text());
      }
    }
  }

  const Graph& graph_;
  std::unordered_set<const Value*> known_;
  std::unordered_set<const Value*> made_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace onward
