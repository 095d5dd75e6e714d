#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace onward {

// What a normalise rule sees: the node as the file has it, the opset it was written for, and the graph to rewrite it
// in. Input types and values of constants are known for everything before the node in the graph.
class NormaliseContext {
 public:
  NormaliseContext(Graph& graph, Node& node, int64_t opset, bool training, int64_t exported_batch = 0,
                   int64_t local_batch = 0)
      : graph_(graph),
        node_(node),
        opset_(opset),
        training_(training),
        exported_batch_(exported_batch),
        local_batch_(local_batch) {}

  Graph& graph() { return graph_; }
  Node& node() { return node_; }
  int64_t opset() const { return opset_; }     // of the node's domain
  bool training() const { return training_; }  // the program trains (training forms of dropout and batch norm)
  // The rows that the file's inputs declare as a number, 0 if they declare none, and the rows of this program: for
  // shapes that the exporter computed for its own batch.
  int64_t exported_batch() const { return exported_batch_; }
  int64_t local_batch() const { return local_batch_; }

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
  int64_t exported_batch_;
  int64_t local_batch_;
};

}  // namespace onward
