// One implementation for all modes: local statistics -> (gathered from all replicas) -> finalize -> apply, and back:
// local sums
// -> (added over all replicas) -> apply. What is in parentheses is there when the node is synchronised.
#include "passes/batch_norm_lowering.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "passes/emit.h"

namespace onward {
namespace {

// Ids are given when all collectives of the program are known.
constexpr int64_t kNoCollectiveYet = 0;

class Lowering {
 public:
  Lowering(Graph& graph, PassContext& context)
      : graph_(graph), registry_(context.registry), replicas_(context.options.replicas) {}

  void run() {
    for (Node* node : graph_.node_list()) {
      const bool own = node->op().domain == kOnwardDomain;
      const std::string& op = node->op().name;
      if ((!own && op == "BatchNormalization" && node->attributes.get_int("training_mode", 0) != 0) ||
          (own && op == "SyncBatchNormalization")) {
        lower_forward(*node, own);
      } else if (own && (op == "BatchNormalizationGrad" || op == "SyncBatchNormalizationGrad")) {
        lower_gradient(*node, op == "SyncBatchNormalizationGrad");
      }
    }
  }

 private:
  static std::string label(const Node& node) { return node.name.empty() ? node.op().name : node.name; }

  // X, scale, B, mean, var -> Y, running_mean, running_var, saved_mean, saved_inv_std
  void lower_forward(Node& node, bool synchronised) {
    const std::string base = label(node);
    const Attributes& given = node.attributes;
    Value* statistics = emit(node, "BatchNormStatistics", {node.input(0)}, {base + ".statistics"}).output(0);
    if (synchronised) {
      statistics = emit(node, "AllGather", {statistics}, {base + ".statistics.gathered"},
                        {{"collective", kNoCollectiveYet}, {"replicas", int64_t{replicas_}}})
                       .output(0);
    }
    Node& finalize =
        emit(node, "BatchNormFinalize", {statistics, node.input(3), node.input(4)},
             {base + ".mean", base + ".inv_std", base + ".running_mean", base + ".running_var", base + ".count"},
             {{"epsilon", given.get_double("epsilon", 1e-5)},
              {"momentum", given.get_double("momentum", 0.9)},
              {"unbiased", given.get_int("unbiased", 0)}});
    Node& apply = emit(node, "BatchNormApply",
                       {node.input(0), finalize.output(0), finalize.output(1), node.input(1), node.input(2)},
                       {base + ".y"}, {{"relu", int64_t{0}}});
    apply.name = node.name;
    replace(node, {apply.output(0), finalize.output(2), finalize.output(3), finalize.output(0), finalize.output(1)});
  }

  // dY, X, scale, saved_mean, saved_inv_std -> dX, dscale, dbias
  void lower_gradient(Node& node, bool synchronised) {
    const std::string base = label(node);
    Value *dy = node.input(0), *x = node.input(1), *scale = node.input(2), *mean = node.input(3),
          *inv_std = node.input(4);
    const Node* finalize = mean->producer();
    if (!finalize || !finalize->is("BatchNormFinalize", kOnwardDomain)) {
      throw Error(ErrorKind::kModel, fmt::format("{}: expected the statistics of a lowered batch norm, found '{}'",
                                                 node.text(), mean->name()));
    }
    const Attributes no_mask{{"mask", std::string("none")}};
    Value* sums = emit(node, "BatchNormGradReduce", {dy, x, mean, inv_std}, {base + ".sums"}, no_mask).output(0);
    if (synchronised) {
      sums = emit(node, "AllReduce", {sums}, {base + ".sums.reduced"}, {{"collective", kNoCollectiveYet}}).output(0);
    }
    Node& apply = emit(node, "BatchNormGradApply", {dy, x, mean, inv_std, scale, sums, finalize->output(4)},
                       {base + ".dx"}, no_mask);
    Node& parameters = emit(node, "BatchNormGradParameters", {sums}, {base + ".dscale", base + ".dbias"},
                            {{"to", static_cast<int64_t>(scale->type.dtype)}});
    replace(node, {apply.output(0), parameters.output(0), parameters.output(1)});
  }

  Node& emit(Node& origin, const char* op, std::vector<Value*> inputs, std::vector<std::string> outputs,
             Attributes attributes = {}) {
    const std::string text = origin.origin.empty() ? label(origin) : origin.origin;
    return emit_node(graph_, registry_,
                     {{kOnwardDomain, op}, std::move(inputs), std::move(outputs), std::move(attributes), text},
                     &origin);
  }

  // Removes the node; its values live on, under their names, in those of the lowered nodes.
  void replace(Node& node, const std::vector<Value*>& by) {
    std::vector<std::pair<Value*, std::string>> names;
    for (std::size_t i = 0; i < by.size(); ++i) {
      Value* old = node.output(i);
      if (!old) continue;
      graph_.replace_uses(*old, *by[i]);
      names.emplace_back(by[i], old->name());
    }
    graph_.erase(node);
    for (const auto& [value, name] : names) graph_.rename(*value, name);
  }

  Graph& graph_;
  const Registry& registry_;
  const int replicas_;
};

}  // namespace

Pass batch_norm_lowering_pass() {
  return {.name = "batch-norm-lowering",
          .run = [](Graph& graph, PassContext& context) { Lowering(graph, context).run(); },
          .requires_ = {"static"},
          .ensures = {"lowered"}};
}

}  // namespace onward
