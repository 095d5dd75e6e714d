#include "passes/data_parallel.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/buckets.h"
#include "passes/check_reductions.h"
#include "passes/distributions.h"
#include "passes/emit.h"
#include "passes/metric_outputs.h"
#include "passes/program_modes.h"

namespace onward {
namespace {

// The id of a collective that has none yet.
constexpr int64_t kNoCollectiveYet = 0;

class DataParallel {
 public:
  DataParallel(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), options_(context.options), registry_(context.registry) {}

  void run() {
    const ProgramMode mode = context_.request.mode;
    const bool measures = options_.loss != LossKind::kNone || (options_.differentiate && !options_.gradient_of.empty());
    // Without a loss an output of that name is the file's own and keeps its type.
    if (measures) widen_metric_outputs(graph_, registry_);
    infer_distributions(graph_, options_.replicas, registry_);
    if (options_.replicas > 1 && updates_parameters(mode)) {
      reduce_gradients();
      reduce_outputs();
    }
    if (options_.keep_gradients) output_gradients();
    infer_distributions(graph_, options_.replicas, registry_);
    number_collectives();
    check_reductions(graph_, options_.replicas, registry_, !updates_parameters(mode));
  }

 private:
  void reduce_gradients() {
    const auto buckets = gradient_buckets(graph_, options_);
    for (std::size_t number = 0; number < buckets.size(); ++number) {
      std::vector<std::size_t> partial = buckets[number];
      std::erase_if(partial, [&](std::size_t i) { return !is_partial(*graph_.gradients()[i].gradient); });
      if (partial.empty()) continue;
      std::vector<Value*> members;
      for (std::size_t i : partial) members.push_back(graph_.gradients()[i].gradient);
      const std::vector<Value*> sums =
          all_reduce(members, after_all(members), fmt::format("gradient bucket {}", number));
      for (std::size_t k = 0; k < partial.size(); ++k) {
        graph_.set_gradient(partial[k], *sums[k]);
        if (graph_.is_output(*members[k])) replace_output(graph_, *members[k], *sums[k]);
      }
    }
  }

  // What is left among the outputs is small: the metrics, and sums that the file has as outputs.
  void reduce_outputs() {
    std::vector<Value*> partial = graph_.outputs();
    std::erase_if(partial, [](Value* value) { return !is_partial(*value); });
    while (!partial.empty()) {
      const DType dtype = partial.front()->type.dtype;
      std::vector<Value*> members;
      std::copy_if(partial.begin(), partial.end(), std::back_inserter(members),
                   [&](Value* value) { return value->type.dtype == dtype; });
      std::erase_if(partial, [&](Value* value) { return value->type.dtype == dtype; });
      const std::vector<Value*> sums = all_reduce(members, nullptr, "metrics");
      for (std::size_t k = 0; k < members.size(); ++k) replace_output(graph_, *members[k], *sums[k]);
    }
  }

  // Appends the reduction and gives the sums the names of their terms. The terms keep their uses.
  std::vector<Value*> all_reduce(const std::vector<Value*>& terms, Node* before, const std::string& origin) {
    std::vector<std::string> names;
    for (const Value* term : terms) names.push_back(term->name() + ".sum");
    Node& node =
        emit_node(graph_, registry_,
                  {{kOnwardDomain, "AllReduce"}, terms, names, {{"collective", kNoCollectiveYet}}, origin}, before);
    for (std::size_t i = 0; i < terms.size(); ++i) take_name(graph_, *terms[i], *node.output(i), "local");
    return node.outputs();
  }

  // The node before which all of the values are made, as early as possible.
  Node* after_all(const std::vector<Value*>& values) const {
    std::size_t missing = values.size();
    for (const auto& node : graph_.nodes()) {
      if (missing == 0) return node.get();
      missing -= static_cast<std::size_t>(
          std::count_if(values.begin(), values.end(), [&](Value* value) { return value->producer() == node.get(); }));
    }
    return nullptr;
  }

  void output_gradients() {
    for (const ParameterGradient& pair : graph_.gradients()) graph_.add_output(*pair.gradient);
  }

  void number_collectives() {
    int64_t next = 0;
    for (const auto& node : graph_.nodes()) {
      if (registry_.op(node->op()).communicates) node->attributes.set("collective", next++);
    }
  }

  static bool is_partial(const Value& value) { return value.distribution == Distribution::kPartial; }

  Graph& graph_;
  PassContext& context_;
  const ProgramOptions& options_;
  const Registry& registry_;
};

}  // namespace

Pass data_parallel_pass() {
  return {.name = "data-parallel",
          .run = [](Graph& graph, PassContext& context) { DataParallel(graph, context).run(); },
          .requires_ = {"static", "lowered"},
          .ensures = {"distributed"}};
}

}  // namespace onward
