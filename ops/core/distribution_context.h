#pragma once
#include <string>

#include "graph/graph.h"

namespace onward {

// What a distribution rule sees: how the inputs are spread over the replicas. It says how the outputs are.
class DistributionContext {
 public:
  DistributionContext(Node& node, int replicas) : node_(node), replicas_(replicas) {}

  const Node& node() const { return node_; }
  int replicas() const { return replicas_; }
  Distribution input(std::size_t i) const;  // kReplicated for an absent input
  void set(std::size_t output, Distribution distribution);
  void set_all(Distribution distribution);
  // Any batch-split input makes the outputs batch-split; all replicated (or local) inputs make them replicated (or
  // local); a partial input is an error, unless `linear` and no other input is batch-split: then the outputs are
  // partial.
  void pointwise(bool linear = false);
  // Error(kModel) naming the node, only when there is more than one replica.
  void fail(const std::string& message) const;

 private:
  Node& node_;
  int replicas_;
};

class Registry;
void distribute_node(Node& node, int replicas, const Registry& registry);

}  // namespace onward
