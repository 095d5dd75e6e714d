#include "passes/state_source.h"

namespace onward {

Value* state_source(Value* value) {
  while (value && value->producer() && value->producer()->is("Identity")) value = value->producer()->input(0);
  return value;
}

}  // namespace onward
