#pragma once
#include "passes/pass.h"

namespace onward {

// Changes nothing: warns of what a file holds that training makes no use of, or lacks. Tensors that no node reads; and
// BatchNormalization folded into the convolutions, as the file itself says (fold_batch_norm.h) or as the network shows:
// many convolutions, all with a bias, no normalization, and either residual additions or names that an exporter leaves.
Pass training_warnings_pass();

}  // namespace onward
