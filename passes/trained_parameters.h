#pragma once
#include <vector>

#include "passes/pass.h"

namespace onward {

// The parameters that the run trains: those that no pattern of options.freeze matches, in order of creation. A pattern
// is a shell glob over the whole name; `*` matches `/` and `.` too. Error(kUsage) for a pattern that matches no
// parameter.
std::vector<Value*> trained_parameters(const Graph& graph, const ProgramOptions& options);

}  // namespace onward
