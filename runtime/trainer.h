#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/batch_feeds.h"
#include "runtime/checkpoint.h"
#include "runtime/evaluate.h"
#include "runtime/replicas.h"
#include "runtime/schedule.h"

namespace onward {

struct TrainerOptions {
  int64_t epochs = 1;
  int64_t max_steps = 0;   // ends the run early; 0: no limit. Does not change the schedule
  int64_t accumulate = 1;  // global batches whose gradients make one update
  Schedule schedule;
  bool stop_on_nan = true;  // at a loss or gradient that is not finite; else the program itself skips such steps
  BatchInputs inputs;
  LossInfo loss;
  LocalState local_state = LocalState::kNone;
  std::vector<std::string> local_names;  // of the state that differs between replicas
  std::string folder;                    // for checkpoints; empty: none are written
  int64_t save_every = 0;                // optimizer steps between checkpoints besides that of every epoch; 0: none
  int64_t keep = 0;                      // step-N.safetensors files kept besides last and best
  std::map<std::string, std::string> metadata;  // goes into every checkpoint
};

struct StepReport {
  TrainingPosition position;  // after the step
  int64_t steps_per_epoch = 0;
  double loss = 0;  // of the update, over the global batch
  double learning_rate = 0;
  int64_t samples = 0;
  double seconds = 0;
};

struct EpochReport {
  int64_t epoch = 0;               // counts from 1
  double loss = 0;                 // mean over the epoch's samples, as they were trained on; NaN if all were skipped
  double examples_per_second = 0;  // training only
  Evaluation test;
  double learning_rate = 0;  // of the last step
  double seconds = 0;        // training and evaluation
  uint64_t parameters_hash = 0;
  int64_t step = 0;
  bool best = false;
};

struct TrainerEvents {
  std::function<void()> before_step;
  std::function<void(const StepReport&)> step;
  std::function<void(const EpochReport&)> epoch;
  std::function<void(const std::string&)> warning;
};

// What the program of the batch with this index does, in an update made from so many batches.
ProgramMode update_mode(std::size_t batch, std::size_t batches);

enum class TrainingEnd : uint8_t { kDone, kInterrupted };

// Runs the epochs of a training: batches, updates, evaluation, checkpoints. The figures of an epoch do not depend on
// whether the run was interrupted and resumed within it.
class Trainer {
 public:
  // All referenced objects outlive the trainer. `interrupt` (may be null) becomes non-zero to ask for a checkpoint and
  // an end.
  Trainer(ReplicaGroup& replicas, Loader& train, Loader* test, TrainerOptions options, TrainerEvents events,
          const std::atomic<int>* interrupt = nullptr);

  // Takes parameters, state and position from a checkpoint. Error(kData) naming the first tensor that is missing or
  // does not fit.
  void resume(const Checkpoint& checkpoint);

  // Starts with the parameters and state of global rank 0 on every replica; under LocalState::kMean each keeps its own
  // local state.
  // Errors: kData (labels), kRun (a loss or gradient that is not finite, replicas that differ, a final checkpoint that
  // could not be written). What stops the run between two updates leaves a checkpoint of the last one behind.
  TrainingEnd run();

  const TrainingPosition& position() const { return position_; }
  Checkpoint checkpoint();

 private:
  std::set<std::string> own_state() const;
  void recall_shares();
  bool limit_reached() const;
  bool interrupted() const;
  bool run_epochs();
  bool run_epoch();
  void run_update(const std::vector<Batch>& batches);
  double run_batches(const std::vector<Batch>& batches, double rate);
  void check_finite(double loss, double rate) const;
  void after_update(const std::vector<Batch>& batches, double loss, double rate, double seconds);
  void finish_epoch(double seconds_before_test, int64_t samples, bool whole);
  Evaluation evaluate_now();
  std::vector<TensorMap> local_tensors();
  void write_local(const std::vector<TensorMap>& tensors);
  TensorMap shared_local(const std::vector<TensorMap>& tensors) const;
  // False, after a warning, if the file could not be written.
  bool save(bool best);
  void save_after(const Error& error);

  ReplicaGroup& replicas_;
  Loader& train_;
  Loader* test_;
  TrainerOptions options_;
  TrainerEvents events_;
  const std::atomic<int>* interrupt_;
  TrainingPosition position_;
  std::vector<int64_t> last_shares_;
  double last_rate_ = 0;
  bool last_save_failed_ = false;
  bool gradient_finite_ = true;  // of the last update, where the program looks at it
  bool unsaved_ = false;         // the state is that of position_, sound, and no checkpoint has it yet
};

}  // namespace onward
