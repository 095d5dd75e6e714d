#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"

namespace onward {

class Registry;

// What a gradient rule sees: x(i) inputs, y(i) outputs, dy(i) gradients of outputs, and emit(...) to append nodes.
// Emitted nodes are typed at once, so rules may look at the types of what they emitted. Accumulation over several uses
// is not the rule's business: the backward pass does it.
class GradientContext {
 public:
  GradientContext(Graph& graph, Node& node, std::vector<Value*> dys, std::vector<bool> wanted,
                  const Registry& registry);

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  std::size_t input_count() const { return node_.inputs().size(); }
  Value* x(std::size_t i) const { return node_.input(i); }
  Value* y(std::size_t i) const { return node_.output(i); }
  // nullptr if no gradient arrives at the output (or it is absent).
  Value* dy(std::size_t i) const { return i < dys_.size() ? dys_[i] : nullptr; }
  // Whether the gradient of input i is needed.
  bool wants(std::size_t i) const { return i < wanted_.size() && wanted_[i]; }
  void set_dx(std::size_t i, Value* gradient);
  const std::vector<Value*>& dxs() const { return dxs_; }

  // Appends a node with one output and returns it.
  Value* emit(const OpId& op, std::vector<Value*> inputs, Attributes attributes = {});
  Value* emit(const char* onnx_op, std::vector<Value*> inputs, Attributes attributes = {});
  // Appends a node with `outputs` outputs.
  std::vector<Value*> emit_all(const OpId& op, std::vector<Value*> inputs, std::size_t outputs,
                               Attributes attributes = {});
  // Output i of the forward node, added if it was absent (indices of a pooling, the mask of a dropout).
  Value* forward_output(std::size_t i, const std::string& name);
  // A constant scalar of the type of `like`.
  Value* scalar(double number, const Value& like);
  // `gradient` summed to `shape`: the inverse of broadcasting. Returns `gradient` itself when the shapes agree.
  Value* reduce_to(Value* gradient, const Shape& shape);

 private:
  Graph& graph_;
  Node& node_;
  std::vector<Value*> dys_;
  std::vector<bool> wanted_;
  std::vector<Value*> dxs_;
  const Registry& registry_;
};

}  // namespace onward
