#include "passes/check_reductions.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "passes/distributions.h"

namespace onward {
namespace {

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::kModel, "the reductions are wrong: " + fmt::format(format, std::forward<Args>(args)...));
}

void check_reduced_once(const Node& node) {
  if (!node.is("AllReduce", kOnwardDomain)) return;
  for (const Value* value : node.inputs()) {
    if (value && value->distribution != Distribution::kPartial) {
      fail("{} adds '{}' over the replicas, which is {} and not partial", node.text(), value->name(),
           distribution_name(value->distribution));
    }
  }
}

// What is stored must be as equal among replicas as the store says.
void check_update(const StateUpdate& update) {
  const Distribution from = update.updated->distribution, to = update.state->distribution;
  const bool fits = from == to || (to == Distribution::kLocal && from == Distribution::kReplicated);
  if (!fits) {
    fail("'{}', which is {}, is updated with '{}', which is {}", update.state->name(), distribution_name(to),
         update.updated->name(), distribution_name(from));
  }
}

// The nodes that make the next value of a parameter read sums only when they are complete.
void check_parameter_update(const StateUpdate& update) {
  if (update.state->role != Role::kParameter || !update.updated->producer()) return;
  const Node& step = *update.updated->producer();
  for (const Value* value : step.inputs()) {
    if (value && value->distribution != Distribution::kReplicated) {
      fail("{} updates '{}' with '{}', which is {}", step.text(), update.state->name(), value->name(),
           distribution_name(value->distribution));
    }
  }
}

}  // namespace

void check_reductions(Graph& graph, int replicas, const Registry& registry, bool partial_outputs) {
  if (replicas == 1) return;
  // Node by node, so that the first wrong reduction is named and not what follows from it.
  for (Node* node : graph.node_list()) {
    check_reduced_once(*node);
    infer_distribution(*node, replicas, registry);
  }
  for (const StateUpdate& update : graph.updates()) {
    check_parameter_update(update);
    check_update(update);
  }
  for (const Value* output : graph.outputs()) {
    if (output->distribution == Distribution::kPartial && !partial_outputs) {
      fail("the output '{}' is partial", output->name());
    }
  }
  for (const ParameterGradient& pair : graph.gradients()) {
    if (pair.gradient->distribution != Distribution::kReplicated) {
      fail("the gradient '{}' of '{}' is {}", pair.gradient->name(), pair.parameter->name(),
           distribution_name(pair.gradient->distribution));
    }
  }
}

}  // namespace onward
