#pragma once

namespace onward {

class Registry;

// The Winograd kernels of the three directions: only for specs that allow them.
void add_winograd_kernels(Registry& registry);

}  // namespace onward
