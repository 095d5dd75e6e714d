#pragma once
#include "ops/core/program_source.h"

namespace onward {

// Ends a step: reduces the gradients and updates the parameters.
inline bool updates_parameters(ProgramMode mode) {
  return mode == ProgramMode::kTrain || mode == ProgramMode::kTrainAccumulated;
}

// One of the earlier micro-batches of a step: leaves its gradients in the accumulation.
inline bool only_accumulates(ProgramMode mode) {
  return mode == ProgramMode::kAccumulateFirst || mode == ProgramMode::kAccumulateNext;
}

}  // namespace onward
