#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace onward {

// What a normalise rule sees: the node as the file has it, the opset it was written for, and the graph to rewrite it in.
// Input types and values of constants are known for everything before the node in the graph.
class NormaliseContext {
 public:
  NormaliseContext(Graph& graph, Node& node, int64_t opset, bool training)
      : graph_(graph), node_(node), opset_(opset), training_(training) {}

  Graph& graph() { return graph_; }
  Node& node() { return node_; }
  int64_t opset() const { return opset_; }   // of the node's domain
  bool training() const { return training_; }  // the program trains (training forms of dropout and batch norm)

  // Value of a constant input; nullptr if absent; Error(kModel) if present and not a constant.
  const HostTensor* constant(std::size_t i) const;
  // Moves a constant integer-list input into an attribute and drops the input (and all after it). No-op if absent.
  void input_to_ints(std::size_t i, const std::string& attribute);
  // Drops trailing inputs from index i on.
  void drop_inputs_from(std::size_t i);
  void drop_outputs_from(std::size_t i);

 private:
  Graph& graph_;
  Node& node_;
  int64_t opset_;
  bool training_;
};

}  // namespace onward
