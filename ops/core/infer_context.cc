#include "ops/core/infer_context.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "ops/core/registry.h"

namespace onward {

const TensorType& InferContext::type(std::size_t i) const {
  const Value* value = node_.input(i);
  if (!value) throw Error(ErrorKind::kModel, fmt::format("expected input {}, found none", i));
  return value->type;
}

const HostTensor* InferContext::constant(std::size_t i) const {
  const Value* value = node_.input(i);
  return value && value->role == Role::kConstant && !value->data.empty() ? &value->data : nullptr;
}

void InferContext::set(std::size_t output, DType dtype, Shape shape) {
  if (Value* value = node_.output(output)) value->type = TensorType(dtype, shape);
}

void InferContext::require(bool ok, const std::string& expected, const std::string& found) const {
  if (!ok) throw Error(ErrorKind::kModel, fmt::format("expected {}, found {}", expected, found));
}

void infer_node(Node& node, const Registry& registry) {
  try {
    const OpDef& def = registry.op(node.op());
    InferContext context(node);
    def.infer(context);
  } catch (Error& error) {
    error.note(fmt::format("in the shape rule of {}", node.text()));
    throw;
  }
}

}  // namespace onward
