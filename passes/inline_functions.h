#pragma once
#include "passes/pass.h"

namespace onward {

// Replaces calls of the file's functions by their bodies. Error(kModel) for a function that calls itself.
void inline_functions(Graph& graph, const FunctionLookup& functions);
Pass inline_functions_pass();

}  // namespace onward
