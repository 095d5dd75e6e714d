#pragma once
#include "passes/pass.h"

namespace onward {

// BatchNormalization in training form becomes SyncBatchNormalization under --bn sync with several replicas. Expects it
// with its five outputs and its running statistics joined by updates (see training_form.h).
//
// Under --bn local and --bn rank0 it stays what it is, and its running statistics become kLocal: every replica keeps
// its own. Which of them an evaluation or an export takes is not in the graph, because no program has two replicas'
// values at hand: the runtime averages them (local) or takes those of replica 0 (rank0), as options.batch_norm says.
//
// Error(kModel) naming the node when one value per channel is all that the statistics would be taken of.
Pass batch_norm_mode_pass();

}  // namespace onward
