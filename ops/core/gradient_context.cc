#include "ops/core/gradient_context.h"

#include <fmt/format.h>

#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {

GradientContext::GradientContext(Graph& graph, Node& node, std::vector<Value*> dys, std::vector<bool> wanted,
                                 const Registry& registry)
    : graph_(graph),
      node_(node),
      dys_(std::move(dys)),
      wanted_(std::move(wanted)),
      dxs_(node.inputs().size(), nullptr),
      registry_(registry) {}

void GradientContext::set_dx(std::size_t i, Value* gradient) {
  if (wants(i)) dxs_.at(i) = gradient;
}

std::vector<Value*> GradientContext::emit_all(const OpId& op, std::vector<Value*> inputs, std::size_t outputs,
                                              Attributes attributes) {
  const std::string base = node_.name.empty() ? node_.op().name : node_.name;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back(base + ".grad");
  Node& emitted = graph_.add_node(op, std::move(inputs), names, std::move(attributes));
  emitted.origin = "backward of " + base;
  infer_node(emitted, registry_);
  return emitted.outputs();
}

Value* GradientContext::emit(const OpId& op, std::vector<Value*> inputs, Attributes attributes) {
  return emit_all(op, std::move(inputs), 1, std::move(attributes)).front();
}

Value* GradientContext::emit(const char* onnx_op, std::vector<Value*> inputs, Attributes attributes) {
  return emit(OpId{"", onnx_op}, std::move(inputs), std::move(attributes));
}

Value* GradientContext::forward_output(std::size_t i, const std::string& name) {
  if (Value* present = node_.output(i)) return present;
  Value& added = graph_.add_output_to(node_, i, name);
  infer_node(node_, registry_);
  return &added;
}

Value* GradientContext::scalar(double number, const Value& like) {
  return &graph_.add_data("constant", HostTensor::scalar<double>(number).cast(like.type.dtype));
}

Value* GradientContext::reduce_to(Value* gradient, const Shape& shape) {
  const Shape from = gradient->type.shape();
  if (from == shape) return gradient;
  const std::size_t extra = from.size() - shape.size();
  std::vector<int64_t> axes;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < extra || (shape[i - extra] == 1 && from[i] != 1)) axes.push_back(static_cast<int64_t>(i));
  }
  Value* sum = axes.empty() ? gradient : emit("ReduceSum", {gradient}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  if (sum->type.shape() == shape) return sum;
  return emit("Reshape", {sum}, {{"shape", shape}});
}

}  // namespace onward
