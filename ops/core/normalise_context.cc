#include "ops/core/normalise_context.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace onward {

const HostTensor* NormaliseContext::constant(std::size_t i) const {
  const Value* value = node_.input(i);
  if (!value) return nullptr;
  // An initializer of floats that becomes an attribute (a bound, a ratio) was no parameter, whatever the roles pass
  // took it for.
  const bool stored = value->role == Role::kConstant || value->role == Role::kParameter;
  if (!stored || value->data.empty()) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected input {} ('{}') to be a constant, found a computed value", i, value->name()));
  }
  return &value->data;
}

void NormaliseContext::input_to_ints(std::size_t i, const std::string& attribute) {
  if (const HostTensor* data = constant(i)) node_.attributes.set(attribute, data->to_int64());
  drop_inputs_from(i);
}

void NormaliseContext::drop_inputs_from(std::size_t i) {
  std::vector<Value*> kept = node_.inputs();
  if (kept.size() > i) kept.resize(i);
  graph_.set_inputs(node_, std::move(kept));
}

void NormaliseContext::drop_outputs_from(std::size_t i) { graph_.drop_outputs_from(node_, i); }

}  // namespace onward
