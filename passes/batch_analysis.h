#pragma once
#include <unordered_map>

#include "graph/graph.h"
#include "ops/core/registry.h"

namespace onward {

// How a value of the forward graph hangs together with the batch.
enum class BatchRelation : uint8_t {
  kFixed,  // the same whatever the batch holds
  kRows,   // dimension 0 goes over the rows of the batch (or over several per sample)
  kSum,    // a sum over rows, or their number: adding up what several parts of the batch give is right
  kMixed,  // made from the whole batch in another way: a mean, a product of sums
};

// The relation of every value, from the distribution rules of the ops.
std::unordered_map<const Value*, BatchRelation> analyse_batch(Graph& graph, const Registry& registry);

}  // namespace onward
