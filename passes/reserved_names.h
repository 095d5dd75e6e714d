#pragma once
#include "passes/pass.h"

namespace onward {

// Error(kModel) listing the values of the file whose names begin as those of the program do (graph/scalars.h): what is
// found by such a name must be what the program made.
Pass reserved_names_pass();

}  // namespace onward
