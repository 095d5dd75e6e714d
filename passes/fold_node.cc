#include "passes/fold_node.h"

#include <algorithm>

#include "ops/core/host_run.h"
#include "ops/shape/shape_range.h"
#include "passes/constant_node.h"

namespace onward {
namespace {

constexpr int64_t kMaxElements = 1 << 20;

bool reads_constants(const Node& node) {
  return std::all_of(node.inputs().begin(), node.inputs().end(), [](const Value* value) {
    return !value || (value->role == Role::kConstant && !value->data.empty());
  });
}

bool results_fold(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs().begin(), node.outputs().end(), [&](const Value* value) {
    return !value || (!graph.is_output(*value) && element_count(value->type.shape()) <= kMaxElements);
  });
}

HostTensor shape_tensor(const Node& node) {
  const Shape part = shape_range(node.input(0)->type.shape(), node.attributes);
  return HostTensor::from<int64_t>({static_cast<int64_t>(part.size())}, part);
}

std::vector<HostTensor> run(const Node& node, const Registry& registry) {
  std::vector<HostTensor> inputs;
  for (const Value* value : node.inputs()) inputs.push_back(value ? value->data : HostTensor());
  return run_node_on_host(node, inputs, registry);
}

}  // namespace

bool fold_node(Graph& graph, Node& node, const Registry& registry) {
  const bool of_type = node.is("Shape") || node.is("Size");
  const OpDef& def = registry.op(node.op());
  if ((!of_type && !reads_constants(node)) || !def.constant_folds || def.communicates || !results_fold(graph, node)) {
    return false;
  }
  std::vector<HostTensor> results;
  if (node.is("Shape")) {
    results = {shape_tensor(node)};
  } else if (node.is("Size")) {
    results = {HostTensor::scalar<int64_t>(element_count(node.input(0)->type.shape()))};
  } else if (registry.kernels(node.op(), Backend::kCpu).empty()) {
    return false;
  } else {
    results = run(node, registry);
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.output(i)) replace_by_constant(graph, node, i, results.at(i));
  }
  graph.erase(node);
  return true;
}

}  // namespace onward
