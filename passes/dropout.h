#pragma once
#include "passes/pass.h"

namespace onward {

// Dropout in the form that the request asks for: onward::DropoutTrain, keyed by the step and the row, or nothing.
Pass dropout_pass();

}  // namespace onward
