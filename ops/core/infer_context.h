#pragma once
#include "graph/graph.h"

namespace onward {

// What a shape rule sees of its node: static types of the inputs, values of constant ones, attributes.
class InferContext {
 public:
  explicit InferContext(Node& node) : node_(node) {}

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  std::size_t input_count() const { return node_.inputs().size(); }
  std::size_t output_count() const { return node_.outputs().size(); }
  bool has_input(std::size_t i) const { return node_.input(i) != nullptr; }
  // Error(kModel) if the input is absent.
  const TensorType& type(std::size_t i) const;
  DType dtype(std::size_t i) const { return type(i).dtype; }
  Shape shape(std::size_t i) const { return type(i).shape(); }
  // nullptr if the input is absent or not a constant.
  const HostTensor* constant(std::size_t i) const;
  // Sets an output's type; ignored for an absent output.
  void set(std::size_t output, DType dtype, Shape shape);
  // Error(kModel) "expected <what>, found <found>" unless `ok`.
  void require(bool ok, const std::string& expected, const std::string& found) const;

 private:
  Node& node_;
};

class Registry;
// Runs the op's shape rule; errors get a note naming the node. Error(kModel) for an op without a record.
void infer_node(Node& node, const Registry& registry);

}  // namespace onward
