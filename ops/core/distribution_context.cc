#include "ops/core/distribution_context.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "ops/core/registry.h"

namespace onward {

Distribution DistributionContext::input(std::size_t i) const {
  const Value* value = node_.input(i);
  return value ? value->distribution : Distribution::kReplicated;
}

void DistributionContext::set(std::size_t output, Distribution distribution) {
  if (Value* value = node_.output(output)) value->distribution = distribution;
}

void DistributionContext::set_all(Distribution distribution) {
  for (std::size_t i = 0; i < node_.outputs().size(); ++i) set(i, distribution);
}

void DistributionContext::pointwise(bool linear) {
  bool split = false, partial = false, local = false;
  for (const Value* value : node_.inputs()) {
    if (!value) continue;
    split |= value->distribution == Distribution::kBatchSplit;
    partial |= value->distribution == Distribution::kPartial;
    local |= value->distribution == Distribution::kLocal;
  }
  if (partial && (!linear || split)) {
    fail("reads a sum that is not complete before it is added over the replicas, and is not linear in it");
  }
  set_all(partial ? Distribution::kPartial
          : split ? Distribution::kBatchSplit
          : local ? Distribution::kLocal
                  : Distribution::kReplicated);
}

void DistributionContext::fail(const std::string& message) const {
  if (replicas_ > 1) {
    throw Error(ErrorKind::kModel,
                fmt::format("{} {}. Train on one replica, or change the model", node_.text(), message));
  }
}

void distribute_node(Node& node, int replicas, const Registry& registry) {
  const OpDef& def = registry.op(node.op());
  DistributionContext context(node, replicas);
  if (def.distribute) {
    def.distribute(context);
  } else {
    context.pointwise();
  }
}

}  // namespace onward
