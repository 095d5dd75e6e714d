#pragma once
#include <map>
#include <string>

#include "passes/options.h"

namespace onward {

// Gives every data input a static shape for a local batch of `rows`. Dimension 0 of an input is the batch where the
// file leaves it open or has it fixed at 1 or, if no input leaves it open, at the first input's number; a name bound so
// is bound in every dimension that bears it. options.input_shapes overrides all of this. Returns the rows that the file
// has fixed, 0 if it leaves them open. Error(kModel) naming the input and the dimension that stays open; Error(kUsage)
// for an option that names no input.
int64_t bind_batch(Graph& graph, const ProgramOptions& options, int64_t rows);

}  // namespace onward
