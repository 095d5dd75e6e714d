#pragma once
#include "passes/pass.h"

namespace onward {

// Makes the graph concrete for the request's local batch size: inputs bound, every op in its normal form, every type
// static, constants folded. Ensures "static".
Pass specialise_pass();

}  // namespace onward
