#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace onward {

// Where a run stands: all that decides what the next step does, besides parameters and state.
struct TrainingPosition {
  int64_t step = 0;            // optimizer steps done
  int64_t batch = 0;           // global batches read since the run began; keys random masks
  int64_t epoch = 0;           // epochs finished
  int64_t batch_in_epoch = 0;  // global batches read in the current epoch
  int64_t epoch_samples = 0;   // of the current epoch so far
  double epoch_loss = 0;       // sum over those samples
  int64_t skipped_steps = 0;   // whose gradient was not finite
  double best_accuracy = -1;   // on the test data; -1 before the first evaluation
  int64_t best_epoch = 0;
};

// The running statistics of one replica under --bn local.
using TensorMap = std::map<std::string, HostTensor>;

struct Checkpoint {
  TrainingPosition position;
  TensorMap tensors;                            // parameters and state; of per-replica state: the weighted mean
  std::vector<TensorMap> replica_tensors;       // per-replica state; empty unless --bn local
  std::map<std::string, std::string> metadata;  // "seed", "config", "model_hash", ...
};

// One safetensors file (runtime/safetensors.h): tensors under their own names, those of a replica as "replica.K/NAME",
// the position and the metadata as texts. Numbers are written so that they read back to the same bits. Errors as there.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Error(kData) if the file is damaged or not a checkpoint of this program.
Checkpoint load_checkpoint(const std::string& path);

// What a state that differs between replicas counts as when it is evaluated, saved or exported.
enum class LocalState : uint8_t {
  kNone,   // there is none: --bn sync
  kMean,   // the mean, weighted by the samples of the last step: --bn local
  kFirst,  // the first replica's: --bn rank0
};

// The mean over replicas of each tensor, weighted by `samples`; all zero weights count as equal ones. Float tensors.
TensorMap weighted_mean(const std::vector<TensorMap>& replicas, const std::vector<int64_t>& samples);

// What the replicas' own state counts as: the mean weighted by `samples`, or the first replica's.
TensorMap shared_state(LocalState rule, const std::vector<TensorMap>& replicas, const std::vector<int64_t>& samples);

}  // namespace onward
