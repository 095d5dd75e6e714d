#pragma once
#include <cstdint>

#include "graph/graph.h"

namespace onward {

// What a program does with a batch.
enum class ProgramMode : uint8_t {
  kTrain,             // forward, backward, reduction, update
  kAccumulateFirst,   // forward, backward; gradients start an accumulation
  kAccumulateNext,    // forward, backward; gradients are added to the accumulation
  kTrainAccumulated,  // like kTrain, with the accumulated gradients added before the reduction
  kEvaluate,          // forward in inference form, metrics; no collective
};

struct ProgramKey {
  ProgramMode mode = ProgramMode::kTrain;
  int64_t local_batch = 0;
  auto operator<=>(const ProgramKey&) const = default;
};

// The port through which the trainer gets graphs, so that the runtime does not see the passes. Parameters, state,
// buckets and the order of collectives are the same for every key.
class ProgramSource {
 public:
  virtual ~ProgramSource() = default;
  virtual Graph program(const ProgramKey& key) = 0;
};

}  // namespace onward
