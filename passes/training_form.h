#pragma once
#include "passes/pass.h"

namespace onward {

// BatchNormalization in the form that the request asks for. Training: training_mode=1, outputs Y, running_mean,
// running_var, saved_mean, saved_inv_std, and updates that join the running statistics to outputs 1 and 2. Evaluation:
// training_mode=0, one output, no updates. With options.keep_file_mode: the form of the file, completed in the same
// way.
Pass training_form_pass();

}  // namespace onward
