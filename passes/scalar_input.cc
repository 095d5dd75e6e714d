#include "passes/scalar_input.h"

namespace onward {

Value& scalar_input(Graph& graph, const char* name, DType dtype) {
  if (Value* present = graph.find_value(name)) return *present;
  return graph.add_input(name, TensorType(dtype, Shape{}), Role::kScalar);
}

}  // namespace onward
