#pragma once
#include "ops/core/normalise_context.h"

namespace onward {

// Before opset 7 the binary ops broadcast only when asked (`broadcast` = 1), and the second operand's dimensions began
// at dimension `axis` of the first (absent: they were its last ones). Reshapes the second operand to what NumPy's rule
// needs and drops the old attributes. Error(kModel) when the shapes do not fit the old rule.
void align_legacy_broadcast(NormaliseContext& context);

}  // namespace onward
