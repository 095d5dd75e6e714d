#include "passes/precision.h"

namespace onward {
namespace {

// Attributes that name the element type of a result: Cast, EyeLike, the Random family.
constexpr const char* kTypeAttributes[] = {"to", "dtype"};

void widen_attributes(Node& node) {
  Attributes widened = node.attributes;
  for (const auto& [name, value] : node.attributes) {
    const auto* tensor = std::get_if<HostTensor>(&value);
    if (tensor && tensor->dtype() == DType::kFloat32) widened.set(name, tensor->cast(DType::kFloat64));
  }
  for (const char* name : kTypeAttributes) {
    const auto is_float = [&] { return widened.get_int(name) == static_cast<int64_t>(DType::kFloat32); };
    if (widened.has(name) && is_float()) widened.set(name, static_cast<int64_t>(DType::kFloat64));
  }
  node.attributes = std::move(widened);
}

void widen(Graph& graph, PassContext&) {
  for (Value* value : graph.value_list()) {
    if (value->type.dtype != DType::kFloat32) continue;
    value->type.dtype = DType::kFloat64;
    if (!value->data.empty()) value->data = value->data.cast(DType::kFloat64);
  }
  for (const auto& node : graph.nodes()) widen_attributes(*node);
}

}  // namespace

Pass precision_pass() { return {.name = "precision", .run = widen}; }

}  // namespace onward
