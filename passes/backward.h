#pragma once
#include "passes/pass.h"

namespace onward {

// Appends the nodes that compute the derivative of the scalar context.loss->value by every trained parameter and, with
// options.input_gradients, by every floating input. It knows no op by name: an op's derivative is its record's rule.
//
// The gradients of parameters become graph.gradients(), in the order in which they are finished, which depends on the
// forward graph alone and not on the batch size; those of inputs become outputs INPUT.grad.
//
// Error(kModel): a node between parameters and loss has no rule (all such nodes are listed), the loss is no floating
// scalar, or nothing asked for reaches it. A parameter that does not reach the loss is a warning. Ensures "backward".
Pass backward_pass();

}  // namespace onward
