#include "passes/dropout.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "graph/scalars.h"
#include "passes/scalar_input.h"
#include "passes/supported_ops.h"

namespace onward {
namespace {

// Opset 12 moved ratio from the attributes to input 1 and added training_mode as input 2.
constexpr int64_t kInputsSince = 12;

class DropoutForms {
 public:
  DropoutForms(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    int64_t site = 0;
    for (Node* node : graph_.node_list()) {
      if (!node->is("Dropout")) continue;
      const double ratio = ratio_of(*node);
      if (trains(*node) && ratio > 0) {
        to_training(*node, ratio, site);
      } else {
        to_inference(*node);
      }
      ++site;
    }
  }

 private:
  double ratio_of(const Node& node) const {
    double ratio = node.attributes.get_double("ratio", 0.5);
    if (const Value* value = node.input(1)) {
      if (value->data.empty()) {
        throw Error(ErrorKind::kModel,
                    fmt::format("expected the ratio of {} to be a constant, found the computed value '{}'", node.text(),
                                value->name()));
      }
      ratio = value->data.to_double().at(0);
    }
    if (ratio >= 0 && ratio < 1) return ratio;
    throw Error(ErrorKind::kModel,
                fmt::format("expected a dropout ratio in [0, 1), found {} in {}", ratio, node.text()));
  }

  bool trains(const Node& node) const {
    if (!context_.options.keep_file_mode) return context_.request.mode != ProgramMode::kEvaluate;
    const int64_t opset = opset_of(graph_, "");
    if (opset < 7) return node.attributes.get_int("is_test", 0) == 0;
    if (opset < kInputsSince) return false;
    const Value* training_mode = node.input(2);
    return training_mode && !training_mode->data.empty() && training_mode->data.to_double().at(0) != 0;
  }

  bool mask_is_read(const Node& node) const {
    const Value* mask = node.output(1);
    return mask && (!mask->uses().empty() || graph_.is_output(*mask));
  }

  void to_training(Node& node, double ratio, int64_t site) {
    if (mask_is_read(node)) {
      throw Error(ErrorKind::kModel,
                  fmt::format("expected that nothing reads the mask of {} in training, found a reader of '{}'",
                              node.text(), node.output(1)->name()));
    }
    graph_.drop_outputs_from(node, 1);
    graph_.set_op(node, {kOnwardDomain, "DropoutTrain"});
    graph_.set_inputs(node, {node.input(0), &scalar_input(graph_, kRandomStep, DType::kInt64),
                             &scalar_input(graph_, kSampleOffset, DType::kInt64)});
    node.attributes = {{"ratio", ratio}, {"seed", static_cast<int64_t>(context_.options.seed)}, {"site", site}};
  }

  // A mask that is read stays with the op in its inference form.
  void to_inference(Node& node) {
    if (mask_is_read(node)) return;
    graph_.drop_outputs_from(node, 1);
    if (!graph_.is_output(*node.output(0))) {
      graph_.replace_uses(*node.output(0), *node.input(0));
      graph_.erase(node);
      return;
    }
    graph_.set_op(node, {"", "Identity"});
    graph_.set_inputs(node, {node.input(0)});
    node.attributes = {};
  }

  Graph& graph_;
  PassContext& context_;
};

}  // namespace

Pass dropout_pass() {
  return {.name = "dropout", .run = [](Graph& graph, PassContext& context) { DropoutForms(graph, context).run(); }};
}

}  // namespace onward
