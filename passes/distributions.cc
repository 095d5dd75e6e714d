#include "passes/distributions.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "graph/scalars.h"
#include "ops/core/distribution_context.h"

namespace onward {
namespace {

// Dimension 0 of what a batch binds is the batch. Every replica starts at its own row of the global batch.
Distribution leaf_distribution(const Value& value) {
  const bool batch = value.role == Role::kInput || value.role == Role::kLabel;
  if (batch && !value.type.shape().empty()) return Distribution::kBatchSplit;
  if (value.role == Role::kScalar && value.name() == kSampleOffset) return Distribution::kLocal;
  return Distribution::kReplicated;
}

void set_leaf(Value* value) {
  if (value && !value->producer() && value->distribution == Distribution::kUnknown) {
    value->distribution = leaf_distribution(*value);
  }
}

}  // namespace

void infer_distribution(Node& node, int replicas, const Registry& registry) {
  for (Value* value : node.inputs()) set_leaf(value);
  try {
    distribute_node(node, replicas, registry);
  } catch (Error& error) {
    error.note(fmt::format("when deciding what {} must add over {} replicas", node.text(), replicas));
    throw;
  }
}

void infer_distributions(Graph& graph, int replicas, const Registry& registry) {
  for (Value* value : graph.value_list()) set_leaf(value);
  for (Node* node : graph.node_list()) infer_distribution(*node, replicas, registry);
}

}  // namespace onward
