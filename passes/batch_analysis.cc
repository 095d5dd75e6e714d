// The rules say how values are spread over replicas. For one replica they forbid nothing, so they can be asked about any graph;
// what they would forbid shows as a value that hangs on the batch but is neither split nor a sum.
#include "passes/batch_analysis.h"

#include <algorithm>
#include <unordered_set>

#include "ops/core/distribution_context.h"

namespace onward {
namespace {

constexpr int kOneReplica = 1;

bool is_batch(const Value& value) { return value.role == Role::kInput || value.role == Role::kLabel; }

void distribute_source(Value& value) {
  if (value.producer()) return;
  const bool split = is_batch(value) && !value.type.shape().empty();
  value.distribution = split ? Distribution::kBatchSplit : Distribution::kReplicated;
}

BatchRelation relation_of(const Value& value, const std::unordered_set<const Value*>& dependent) {
  if (!dependent.contains(&value)) return BatchRelation::kFixed;
  if (value.distribution == Distribution::kBatchSplit) return BatchRelation::kRows;
  return value.distribution == Distribution::kPartial ? BatchRelation::kSum : BatchRelation::kMixed;
}

}  // namespace

std::unordered_map<const Value*, BatchRelation> analyse_batch(Graph& graph, const Registry& registry) {
  std::unordered_map<const Value*, BatchRelation> relations;
  std::unordered_set<const Value*> dependent;
  for (Value* value : graph.value_list()) {
    distribute_source(*value);
    if (is_batch(*value)) dependent.insert(value);
  }
  for (const auto& node : graph.nodes()) {
    distribute_node(*node, kOneReplica, registry);
    const auto depends = [&](const Value* value) { return value && dependent.contains(value); };
    if (std::any_of(node->inputs().begin(), node->inputs().end(), depends)) {
      dependent.insert(node->outputs().begin(), node->outputs().end());
    }
  }
  for (Value* value : graph.value_list()) {
    relations[value] = relation_of(*value, dependent);
    value->distribution = Distribution::kUnknown;
  }
  return relations;
}

}  // namespace onward
