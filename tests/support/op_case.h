#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "ops/core/registry.h"
#include "tests/support/tensors.h"

namespace onward::test {

// A sample case as a graph of one node whose inputs are graph inputs, with their tensors.
struct OpCase {
  Graph graph;
  Node* node = nullptr;
  std::vector<MaybeTensor> inputs;
};

// Infers the output types; Error(kModel) if the shape rule refuses.
OpCase make_case(const OpDef& def, const SampleCase& sample, DType dtype);
OpCase make_case(const OpDef& def, const SampleCase& sample, std::vector<MaybeTensor> inputs);

// A one-node case of any op, for tests that give the tensors themselves. Outputs are run through the best kernel up to
// `max_priority`.
std::vector<MaybeTensor> run_op(const OpId& op, const std::vector<MaybeTensor>& inputs,
                                const Attributes& attributes = {}, int outputs = 1, int max_priority = 1 << 30);

// A node as a file of `opset` has it, in its normal form and typed. Inputs given as tensors are constants, those given
// as types come from a graph input.
struct NormalCase {
  Graph graph;
  Node* node = nullptr;

  // Runs the graph's nodes on values for its inputs, in order; the node's output comes back.
  HostTensor run(const std::vector<HostTensor>& inputs) const;
};
using TypeOrTensor = std::variant<std::monostate, TensorType, HostTensor>;
NormalCase normal_case(const char* op, int64_t opset, const std::vector<TypeOrTensor>& inputs,
                       const Attributes& attributes = {}, int outputs = 1);

using Tensors = std::map<const Value*, HostTensor>;
// Runs the nodes of a static graph in order with the plain kernels. `known` holds the graph's inputs.
Tensors evaluate(const Graph& graph, Tensors known);

// Gradients of sum_k <dys[k], output k> with respect to the wanted inputs, by the op's gradient rule; a missing entry
// of `dys` is no gradient. Absent where the rule gave none, which means zero.
std::vector<MaybeTensor> gradients_by_rule(OpCase& op_case, const std::vector<MaybeTensor>& dys,
                                           const std::vector<bool>& wanted);
// The same by central differences, at `elements` evenly spread positions of input `input` (all if there are fewer).
// Returns (position, derivative).
std::vector<std::pair<int64_t, double>> gradient_by_differences(const OpCase& op_case,
                                                                const std::vector<MaybeTensor>& dys, std::size_t input,
                                                                int64_t elements = 200);

}  // namespace onward::test
