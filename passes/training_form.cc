#include "passes/training_form.h"

#include <fmt/format.h>

#include <map>

#include "graph/error.h"
#include "ops/core/infer_context.h"

namespace onward {
namespace {

class BatchNormForms {
 public:
  BatchNormForms(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node* node : graph_.node_list()) {
      if (!node->is("BatchNormalization")) continue;
      if (trains(*node)) {
        to_training(*node);
      } else {
        to_inference(*node);
      }
      infer_node(*node, context_.registry);
    }
    for (Value* state : states_) graph_.add_update(*state, *updated_.at(state));
  }

 private:
  bool trains(const Node& node) const {
    if (context_.options.keep_file_mode) return node.attributes.get_int("training_mode", 0) != 0;
    return context_.request.mode != ProgramMode::kEvaluate;
  }

  void to_training(Node& node) {
    node.attributes.set("training_mode", int64_t{1});
    const std::string base = node.output(0)->name();
    const std::string names[] = {base, node.input(3)->name() + ".updated", node.input(4)->name() + ".updated",
                                 base + ".saved_mean", base + ".saved_inv_std"};
    for (std::size_t i = 1; i < std::size(names); ++i) {
      if (!node.output(i)) graph_.add_output_to(node, i, names[i]);
    }
    for (const StatePair& pair : context_.registry.op(node.op()).states) update(node, pair);
  }

  // Statistics that several nodes share are updated by each in turn, as if the layer ran several times.
  void update(Node& node, const StatePair& pair) {
    Value* state = node.input(static_cast<std::size_t>(pair.input));
    if (!state || state->role != Role::kState) return;
    const auto [last, first_update] = updated_.try_emplace(state, nullptr);
    if (first_update) {
      states_.push_back(state);
    } else {
      graph_.set_input(node, static_cast<std::size_t>(pair.input), last->second);
    }
    last->second = node.output(static_cast<std::size_t>(pair.output));
  }

  void to_inference(Node& node) {
    node.attributes.set("training_mode", int64_t{0});
    for (const StatePair& pair : context_.registry.op(node.op()).states) keep_state(node, pair);
    for (std::size_t i = 1; i < node.outputs().size(); ++i) {
      const Value* output = node.output(i);
      if (output && (!output->uses().empty() || graph_.is_output(*output))) {
        throw Error(ErrorKind::kModel,
                    fmt::format("expected that nothing reads the saved statistics of {} outside training, "
                                "found a reader of '{}'",
                                node.text(), output->name()));
      }
    }
    graph_.drop_outputs_from(node, 1);
  }

  // Outside training the updated statistics are the statistics. An output of the graph keeps its name.
  void keep_state(Node& node, const StatePair& pair) {
    Value* updated = node.output(static_cast<std::size_t>(pair.output));
    Value* state = node.input(static_cast<std::size_t>(pair.input));
    if (!updated) return;
    if (!graph_.is_output(*updated)) {
      graph_.replace_uses(*updated, *state);
      return;
    }
    const std::string name = updated->name();
    Node& copy = graph_.add_node({"", "Identity"}, {state}, {name}, {}, &node);
    copy.origin = "statistics of " + node.text();
    infer_node(copy, context_.registry);
    graph_.replace_uses(*updated, *copy.output(0));
    graph_.rename(*updated, name + ".unused");
    graph_.rename(*copy.output(0), name);
  }

  Graph& graph_;
  PassContext& context_;
  std::vector<Value*> states_;  // in the order of their first node
  std::map<const Value*, Value*> updated_;
};

}  // namespace

Pass training_form_pass() {
  return {.name = "training-form",
          .run = [](Graph& graph, PassContext& context) { BatchNormForms(graph, context).run(); },
          .requires_ = {"static"}};
}

}  // namespace onward
