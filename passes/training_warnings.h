#pragma once
#include "passes/pass.h"

namespace onward {

// Changes nothing: says which tensors of the file are trained apart (untie.h), and warns of what a file holds that
// training makes no use of, or lacks. Tensors that no node reads; and BatchNormalization folded into the convolutions,
// as the file itself says (fold_batch_norm.h) or as the network shows: many convolutions, all with a bias, but for a
// few before one that is left no normalization, and either residual additions or names that an exporter leaves.
Pass training_warnings_pass();

}  // namespace onward
