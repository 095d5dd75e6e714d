#include "runtime/trainer.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "graph/error.h"
#include "graph/scalars.h"
#include "runtime/checkpoint_folder.h"
#include "runtime/event.h"

namespace onward {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

int64_t sample_count(const std::vector<Batch>& batches) {
  int64_t count = 0;
  for (const Batch& batch : batches) count += batch.count();
  return count;
}

// Sums over the batches of one update: nothing between two updates needs them.
bool is_accumulator(const std::string& name) { return name.starts_with(kAccumulatedPrefix); }

// What of the run is sound, and what to do, once something is not finite.
std::string after_non_finite(const std::string& folder) {
  const std::string last = last_checkpoint(folder);
  return fmt::format(
      "{}. Try a smaller --lr, --clip-norm, or --on-nan skip",
      last.empty() ? "no checkpoint was written yet" : fmt::format("the last checkpoint, '{}', is from before", last));
}

Error final_save_failed(const std::string& folder) {
  const std::string last = last_checkpoint(folder);
  return Error(ErrorKind::kRun, fmt::format("the final checkpoint could not be written to '{}'; {}", folder,
                                            last.empty() ? "there is no earlier one"
                                                         : fmt::format("the one before, '{}', is intact", last)));
}

// A damaged state must not take the place of a good checkpoint.
void check_state_finite(const Checkpoint& checkpoint, const std::string& folder) {
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (!is_floating(tensor.dtype())) continue;
    for (const double value : tensor.to_double()) {
      if (std::isfinite(value)) continue;
      throw Error(ErrorKind::kRun, fmt::format("'{}' is not finite after step {}; {}", name, checkpoint.position.step,
                                               after_non_finite(folder)));
    }
  }
}

// Arithmetic may leave a sign on what is not a number; it says nothing.
double without_nan_sign(double number) {
  return std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number;
}

}  // namespace

ProgramMode update_mode(std::size_t batch, std::size_t batches) {
  if (batches == 1) return ProgramMode::kTrain;
  if (batch == 0) return ProgramMode::kAccumulateFirst;
  return batch + 1 == batches ? ProgramMode::kTrainAccumulated : ProgramMode::kAccumulateNext;
}

Trainer::Trainer(ReplicaGroup& replicas, Loader& train, Loader* test, TrainerOptions options, TrainerEvents events,
                 const std::atomic<int>* interrupt)
    : replicas_(replicas),
      train_(train),
      test_(test),
      options_(std::move(options)),
      events_(std::move(events)),
      interrupt_(interrupt),
      last_shares_(static_cast<std::size_t>(replicas.size()), 0) {}

void Trainer::resume(const Checkpoint& checkpoint) {
  for (const auto& [name, entry] : replicas_.store(0).entries()) {
    if (is_accumulator(name)) continue;
    const auto found = checkpoint.tensors.find(name);
    if (found == checkpoint.tensors.end()) {
      throw Error(ErrorKind::kData, fmt::format("the checkpoint has no '{}'; resume with the model and the optimizer "
                                                "that it was made with",
                                                name));
    }
    if (found->second.dtype() != entry.dtype || found->second.shape() != entry.shape) {
      throw Error(ErrorKind::kData,
                  fmt::format("expected '{}' of the checkpoint to be {}, found {}", name,
                              TensorType(entry.dtype, entry.shape).text(), found->second.type().text()));
    }
  }
  for (const auto& [name, entry] : replicas_.store(0).entries()) {
    if (!is_accumulator(name)) replicas_.write_all(name, checkpoint.tensors.at(name));
  }
  // With another number of replicas each goes on from the mean, which is in `tensors`.
  if (checkpoint.replica_tensors.size() == static_cast<std::size_t>(replicas_.size())) {
    write_local(checkpoint.replica_tensors);
  }
  position_ = checkpoint.position;
  recall_shares();
}

// Of the last step before the position: an epoch that only lacks its evaluation weighs local state by them.
void Trainer::recall_shares() {
  if (position_.batch_in_epoch == 0) return;
  const auto shares = split_batch(train_.batch_count(position_.batch_in_epoch - 1), replicas_.size());
  for (std::size_t r = 0; r < last_shares_.size(); ++r) last_shares_[r] = shares[r].count;
}

// State that a replica does not take from the first.
std::set<std::string> Trainer::own_state() const {
  if (options_.local_state != LocalState::kMean) return {};
  return {options_.local_names.begin(), options_.local_names.end()};
}

TrainingEnd Trainer::run() {
  replicas_.broadcast_state(own_state());
  replicas_.check_parameters_equal();
  bool going = true;
  try {
    going = run_epochs();
  } catch (...) {
    save_after(*current_error());
    throw;
  }
  if (last_save_failed_) throw final_save_failed(options_.folder);
  return going ? TrainingEnd::kDone : TrainingEnd::kInterrupted;
}

// False if the run was interrupted.
bool Trainer::run_epochs() {
  bool going = true;
  while (going && position_.epoch < options_.epochs && !limit_reached()) going = run_epoch();
  return going;
}

bool Trainer::limit_reached() const { return options_.max_steps > 0 && position_.step >= options_.max_steps; }

bool Trainer::interrupted() const { return interrupt_ && interrupt_->load() != 0; }

// False if the run was interrupted.
bool Trainer::run_epoch() {
  const auto begin = Clock::now();
  int64_t samples = 0;
  // An interruption during the evaluation leaves a position at the very end of the epoch.
  bool whole = position_.batch_in_epoch >= train_.steps_per_epoch();
  if (!whole) train_.begin({position_.epoch, position_.batch_in_epoch});
  while (!whole && !limit_reached()) {
    std::vector<Batch> batches;
    while (batches.size() < static_cast<std::size_t>(options_.accumulate)) {
      std::optional<Batch> batch = train_.next();
      if (!batch) break;
      batches.push_back(std::move(*batch));
    }
    samples += sample_count(batches);
    run_update(batches);
    whole = position_.batch_in_epoch >= train_.steps_per_epoch();
    if (interrupted()) {
      save(false);
      return false;
    }
  }
  finish_epoch(seconds_since(begin), samples, whole);
  return !interrupted();
}

void Trainer::run_update(const std::vector<Batch>& batches) {
  if (events_.before_step) events_.before_step();
  const auto begin = Clock::now();
  const double rate = options_.schedule.rate(position_.step);
  const double loss = run_batches(batches, rate);
  if (options_.stop_on_nan) check_finite(loss, rate);
  after_update(batches, loss, rate, seconds_since(begin));
}

void Trainer::check_finite(double loss, double rate) const {
  if (std::isfinite(loss) && gradient_finite_) return;
  const std::string what = std::isfinite(loss) ? "the gradient is not finite" : fmt::format("the loss is {}", loss);
  throw Error(ErrorKind::kRun, fmt::format("{} at step {} (epoch {}, learning rate {:g}); {}", what, position_.step + 1,
                                           position_.epoch + 1, rate, after_non_finite(options_.folder)));
}

// The loss of the update, over all its batches: the program that ends an accumulation reports the whole of it.
double Trainer::run_batches(const std::vector<Batch>& batches, double rate) {
  std::map<std::string, double> scalars = {
      {kLearningRate, rate},
      {kOptimizerStep, static_cast<double>(position_.step - position_.skipped_steps + 1)},
      {kLossDenominator, loss_denominator(options_.loss, batches)},
      {kGlobalBatch, static_cast<double>(sample_count(batches))}};
  for (const Batch& batch : batches) check_batch_labels(batch, options_.loss);
  double loss = 0;
  gradient_finite_ = true;
  unsaved_ = false;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    scalars[kRandomStep] = static_cast<double>(position_.batch + static_cast<int64_t>(i));
    const auto outputs =
        replicas_.run(update_mode(i, batches.size()), batch_feeds(batches[i], options_.inputs, scalars));
    loss = without_nan_sign(outputs.front().at(kLossOutput).to_double().front());
    const auto finite = outputs.front().find(kFiniteOutput);
    if (finite != outputs.front().end() && finite->second.to_int64().front() == 0) gradient_finite_ = false;
  }
  for (std::size_t r = 0; r < last_shares_.size(); ++r) last_shares_[r] = batches.back().replicas.at(r).share.count;
  return loss;
}

void Trainer::after_update(const std::vector<Batch>& batches, double loss, double rate, double seconds) {
  const int64_t samples = sample_count(batches);
  const auto count = static_cast<int64_t>(batches.size());
  position_.step += 1;
  position_.batch += count;
  position_.batch_in_epoch += count;
  if (std::isfinite(loss) && gradient_finite_) {
    position_.epoch_samples += samples;
    position_.epoch_loss += loss * static_cast<double>(samples);
  } else {
    position_.skipped_steps += 1;
    events_.warning(fmt::format("step {} was skipped: its loss is {}{}", position_.step, loss,
                                std::isfinite(loss) ? ", its gradient is not finite" : ""));
  }
  last_rate_ = rate;
  unsaved_ = true;
  if (events_.step) events_.step({position_, train_.steps_per_epoch(), loss, rate, samples, seconds});
  if (options_.save_every > 0 && position_.step % options_.save_every == 0) save(false);
}

void Trainer::finish_epoch(double seconds, int64_t samples, bool whole) {
  const auto begin = Clock::now();
  EpochReport report;
  report.epoch = position_.epoch + 1;
  report.loss = position_.epoch_samples ? position_.epoch_loss / static_cast<double>(position_.epoch_samples)
                                        : std::numeric_limits<double>::quiet_NaN();
  report.examples_per_second = seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  const bool unsaved = std::exchange(unsaved_, false);  // nothing is sound if the replicas differ
  report.parameters_hash = replicas_.check_parameters_equal();
  unsaved_ = unsaved;
  report.test = evaluate_now();
  if (interrupted()) {  // the figures may be of a part of the test data: the epoch is finished after a resume
    save(false);
    return;
  }
  report.learning_rate = last_rate_;
  report.step = position_.step;
  report.best = test_ && report.test.accuracy > position_.best_accuracy;
  if (report.best) {
    position_.best_accuracy = report.test.accuracy;
    position_.best_epoch = report.epoch;
  }
  if (whole) {
    position_.epoch += 1;
    position_.batch_in_epoch = 0;
    position_.epoch_samples = 0;
    position_.epoch_loss = 0;
  }
  report.seconds = seconds + seconds_since(begin);
  save(report.best);
  if (events_.epoch) events_.epoch(report);
}

Evaluation Trainer::evaluate_now() {
  if (!test_) return {};
  const std::vector<TensorMap> own = local_tensors();
  if (!own.empty()) write_local(std::vector<TensorMap>(own.size(), shared_local(own)));
  const auto restore = [&] {
    if (options_.local_state == LocalState::kMean) write_local(own);
  };
  try {
    const Evaluation result =
        evaluate(replicas_, *test_, options_.inputs, options_.loss, {}, [this] { return interrupted(); });
    restore();
    return result;
  } catch (...) {
    restore();
    throw;
  }
}

std::vector<TensorMap> Trainer::local_tensors() {
  std::vector<TensorMap> tensors;
  if (options_.local_state == LocalState::kNone || options_.local_names.empty()) return tensors;
  for (int r = 0; r < replicas_.size(); ++r) {
    TensorMap& map = tensors.emplace_back();
    for (const std::string& name : options_.local_names) map.emplace(name, replicas_.store(r).read(name));
  }
  return tensors;
}

void Trainer::write_local(const std::vector<TensorMap>& tensors) {
  for (std::size_t r = 0; r < tensors.size(); ++r) {
    for (const auto& [name, tensor] : tensors[r]) replicas_.store(static_cast<int>(r)).write(name, tensor);
  }
}

TensorMap Trainer::shared_local(const std::vector<TensorMap>& tensors) const {
  return shared_state(options_.local_state, tensors, last_shares_);
}

Checkpoint Trainer::checkpoint() {
  Checkpoint result;
  result.position = position_;
  result.metadata = options_.metadata;
  for (const auto& [name, entry] : replicas_.store(0).entries()) {
    if (is_accumulator(name)) continue;
    result.tensors.emplace(name, replicas_.store(0).read(name));
  }
  std::vector<TensorMap> own = local_tensors();
  if (!own.empty()) {
    for (auto& [name, tensor] : shared_local(own)) result.tensors.insert_or_assign(name, std::move(tensor));
    if (options_.local_state == LocalState::kMean) result.replica_tensors = std::move(own);
  }
  return result;
}

bool Trainer::save(bool best) {
  if (options_.folder.empty()) return true;
  last_save_failed_ = false;
  try {
    const Checkpoint current = checkpoint();
    check_state_finite(current, options_.folder);
    save_to_folder(options_.folder, current, best, options_.keep);
    unsaved_ = false;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kRun) throw;
    last_save_failed_ = true;
    if (events_.warning)
      events_.warning(fmt::format("the checkpoint of step {} was not saved: {}", position_.step, error.message()));
  }
  return !last_save_failed_;
}

// Bad data or a failed evaluation costs no completed step. A failed device may have left anything behind.
void Trainer::save_after(const Error& error) {
  const bool sound = error.kind() == ErrorKind::kData || error.kind() == ErrorKind::kRun;
  if (!sound || !unsaved_ || options_.folder.empty()) return;
  try {
    if (save(false) && events_.warning)
      events_.warning(fmt::format("step {} is saved in '{}'; go on with --resume auto", position_.step,
                                  last_checkpoint(options_.folder)));
  } catch (const std::exception& failure) {  // the first error is the one to report
    if (events_.warning) events_.warning(fmt::format("step {} was not saved: {}", position_.step, failure.what()));
  }
}

}  // namespace onward
