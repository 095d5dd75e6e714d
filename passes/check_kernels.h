#pragma once
#include "passes/pass.h"

namespace onward {

// Error(kModel) that lists every node for which the backend has no kernel of its element type.
Pass check_kernels_pass();

// The same for the nodes of the file and the plain kernels, which every op has for the types that it supports: before
// the passes build on types that nothing computes in.
Pass supported_types_pass();

}  // namespace onward
