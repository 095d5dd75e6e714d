#include "passes/batch_norm_mode.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "passes/state_source.h"

namespace onward {
namespace {

constexpr std::size_t kRunningMean = 3, kRunningVariance = 4;

class BatchNormModePass {
 public:
  BatchNormModePass(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), options_(context.options), synchronised_(is_synchronised()) {}

  void run() {
    int count = 0;
    for (Node* node : graph_.node_list()) {
      if (!node->is("BatchNormalization") || node->attributes.get_int("training_mode", 0) == 0) continue;
      check_count(*node);
      convert(*node);
      ++count;
    }
    if (count > 0) context_.facts.push_back(fmt::format("batch normalization: {} ({} nodes)", mode_text(), count));
  }

 private:
  bool is_synchronised() const { return options_.batch_norm == BatchNormMode::kSync && options_.replicas > 1; }

  std::string mode_text() const {
    if (options_.replicas == 1) return "statistics of the whole batch, one replica";
    switch (options_.batch_norm) {
      case BatchNormMode::kSync:
        return fmt::format("statistics of the global batch, over {} replicas", options_.replicas);
      case BatchNormMode::kLocal:
        return fmt::format("local statistics on each of {} replicas, averaged for evaluation and export",
                           options_.replicas);
      case BatchNormMode::kRank0:
        return fmt::format("local statistics on each of {} replicas, those of the first are kept", options_.replicas);
    }
    return "";
  }

  void convert(Node& node) const {
    node.attributes.set("unbiased", int64_t{options_.unbiased_running_variance});
    if (synchronised_) graph_.set_op(node, {kOnwardDomain, "SyncBatchNormalization"});
    const bool local = !synchronised_ && options_.replicas > 1;
    for (std::size_t i : {kRunningMean, kRunningVariance}) {
      if (Value* state = state_source(node.input(i))) {
        state->distribution = local ? Distribution::kLocal : Distribution::kReplicated;
      }
    }
  }

  // Rows over which the node takes its statistics; -1 if this program cannot know.
  int64_t rows(const Node& node) const {
    const int64_t local_rows = node.input(0)->type.shape().at(0);
    const ProgramRequest& request = context_.request;
    if (!synchronised_) return local_rows;
    if (request.global_batch <= 0) return -1;
    return request.local_batch > 0 ? local_rows * request.global_batch / request.local_batch : request.global_batch;
  }

  // The variance of a single value is zero, and so is every derivative through it.
  void check_count(const Node& node) const {
    const Shape shape = node.input(0)->type.shape();
    int64_t count = rows(node);
    for (std::size_t axis = 2; axis < shape.size(); ++axis) count *= shape[axis];
    if (count != 1) return;
    const bool whole = synchronised_ || options_.replicas == 1;
    throw Error(
        ErrorKind::kModel,
        fmt::format(
            "{}: expected at least 2 values per channel to take the variance of, found 1 in the {} of one sample "
            "({}). Use {}",
            node.text(), whole ? "whole batch" : "share", node.input(0)->type.text(),
            whole ? "--drop-last, or another batch size" : "--bn sync, --drop-last, or a larger batch size"));
  }

  Graph& graph_;
  PassContext& context_;
  const ProgramOptions& options_;
  const bool synchronised_;
};

}  // namespace

Pass batch_norm_mode_pass() {
  return {.name = "batch-norm-mode",
          .run = [](Graph& graph, PassContext& context) { BatchNormModePass(graph, context).run(); },
          .requires_ = {"static"}};
}

}  // namespace onward
