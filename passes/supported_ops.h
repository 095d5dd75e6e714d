#pragma once
#include "passes/pass.h"

namespace onward {

// Error(kModel) that lists every node of the file whose op, or whose opset's form of it, this program does not know;
// with them those that read a tensor of the file of a type without kernels, so that all is said at once. A warning if
// the file's opset is newer than all that are known.
Pass supported_ops_pass();

// The version of an operator set that the graph imports. Error(kModel) if it does not import it; 1 for this program's
// own.
int64_t opset_of(const Graph& graph, const std::string& domain);

}  // namespace onward
