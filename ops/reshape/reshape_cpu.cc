#include "ops/core/registry.h"
#include "ops/core/view.h"

namespace onward {

void register_reshape_cpu(Registry& registry) { registry.add(view_kernel({"", "Reshape"})); }

}  // namespace onward
