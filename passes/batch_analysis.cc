// The rules of the ops say how values are spread over replicas, so they are asked for two replicas. What they forbid
// there is what one part of the batch cannot compute alone, and so is whatever reads it.
#include "passes/batch_analysis.h"

#include <algorithm>
#include <unordered_set>

#include "graph/error.h"
#include "ops/core/distribution_context.h"

namespace onward {
namespace {

constexpr int kReplicas = 2;

// A number that is given with a batch is the same for all parts of it.
bool is_batch(const Value& value) {
  return (value.role == Role::kInput || value.role == Role::kLabel) && !value.type.shape().empty();
}

// A constant that depends on the number of rows is marked (batch_constants.h).
bool is_marked(const Value& value) {
  return value.role == Role::kConstant && value.distribution != Distribution::kUnknown;
}

void distribute_source(Value& value) {
  if (is_marked(value)) return;
  value.distribution = is_batch(value) ? Distribution::kBatchSplit : Distribution::kReplicated;
}

BatchRelation relation_of(const Value& value) {
  if (value.distribution == Distribution::kBatchSplit) return BatchRelation::kRows;
  return value.distribution == Distribution::kPartial ? BatchRelation::kSum : BatchRelation::kMixed;
}

class Analysis {
 public:
  explicit Analysis(const Registry& registry) : registry_(registry) {}

  void start_from(Value& value) {
    const bool depends = is_batch(value) || is_marked(value);
    distribute_source(value);
    relations_[&value] = depends ? relation_of(value) : BatchRelation::kFixed;
  }

  void visit(Node& node) {
    const bool allowed = distribute(node);
    const bool mixed = !allowed || any_input(node, [](BatchRelation r) { return r == BatchRelation::kMixed; });
    const bool fixed = !any_input(node, [](BatchRelation r) { return r != BatchRelation::kFixed; });
    for (const Value* output : node.outputs()) {
      if (!output) continue;
      relations_[output] = fixed ? BatchRelation::kFixed : mixed ? BatchRelation::kMixed : relation_of(*output);
    }
  }

  std::unordered_map<const Value*, BatchRelation> take() { return std::move(relations_); }

 private:
  bool distribute(Node& node) const {
    try {
      distribute_node(node, kReplicas, registry_);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  template <typename Predicate>
  bool any_input(const Node& node, Predicate predicate) const {
    return std::any_of(node.inputs().begin(), node.inputs().end(),
                       [&](const Value* value) { return value && predicate(relations_.at(value)); });
  }

  const Registry& registry_;
  std::unordered_map<const Value*, BatchRelation> relations_;
};

}  // namespace

std::unordered_map<const Value*, BatchRelation> analyse_batch(Graph& graph, const Registry& registry) {
  Analysis analysis(registry);
  std::unordered_set<const Value*> marked;
  for (const Value* value : graph.value_list()) {
    if (is_marked(*value)) marked.insert(value);
  }
  for (Value* value : graph.value_list()) {
    if (!value->producer()) analysis.start_from(*value);
  }
  for (const auto& node : graph.nodes()) analysis.visit(*node);
  for (Value* value : graph.value_list()) {
    if (!marked.contains(value)) value->distribution = Distribution::kUnknown;
  }
  return analysis.take();
}

}  // namespace onward
