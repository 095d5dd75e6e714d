#pragma once
#include "passes/pass.h"

namespace onward {

// Removes nodes whose results reach no output, update or gradient, unused trailing outputs that their ops do not
// demand, constants that nothing reads, and scalars that the program does not need. Inputs, parameters and state stay.
Pass prune_pass();

}  // namespace onward
