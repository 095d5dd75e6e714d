#pragma once
#include <functional>
#include <vector>

#include "runtime/batch_feeds.h"
#include "runtime/replicas.h"

namespace onward {

// Figures of a data set under a model.
struct Evaluation {
  int64_t samples = 0;
  double loss = 0;      // mean over the samples, weighted as the loss weights them; 0 if the program has none
  double accuracy = 0;  // fraction whose highest score is the label's
  double top5 = 0;      // fraction whose label is among the five highest scores
};

// Runs every sample of the loader's epoch through the evaluation program exactly once, on all replicas; no collective
// runs: counts are added on the host. `visit` (if given) gets each batch with the outputs of every replica, in order.
// Returns early, with what was counted, when `interrupted` says so.
Evaluation evaluate(ReplicaGroup& replicas, Loader& loader, const BatchInputs& inputs, const LossInfo& loss,
                    const std::function<void(const Batch&, const std::vector<StepOutputs>&)>& visit = {},
                    const std::function<bool()>& interrupted = {});

}  // namespace onward
