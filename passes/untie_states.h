#pragma once
#include "passes/pass.h"

namespace onward {

// Gives every node its own state. Exporters store equal tensors once: in a file that was never trained all running
// means are the same zeros (and all variances the ones that some scale is, too), and nodes that read one tensor would
// overwrite each other's statistics. The first node, in order, that reads the tensor of the file itself keeps it. Each
// other one reads a copy: in the place of the Identity node through which it alone reads the tensor, under that node's
// name, or else named "<what it reads>.<node>" and listed in context.untied. A tensor that is a parameter elsewhere
// stays one, and every node that keeps state in it gets a copy. The rule looks at the structure alone, so that
// training, evaluation and export agree on the names. In an export the copies are new initializers that take the place
// of the shared one. With options.keep_tied nodes go on to share the mean, or the variance, of a tensor that is no
// parameter.
Pass untie_states_pass();

}  // namespace onward
