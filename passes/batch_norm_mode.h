#pragma once
#include "passes/pass.h"

namespace onward {

// BatchNormalization in training form becomes SyncBatchNormalization under --bn sync with several replicas. Finds each training
// BatchNormalization with its five outputs and its running statistics joined by updates (see training_form.h).
Pass batch_norm_mode_pass();

}  // namespace onward
