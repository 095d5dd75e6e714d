#include "runtime/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>

#include "graph/error.h"
#include "runtime/local_communicator.h"
#include "runtime/plan_verifier.h"

namespace onward {

namespace {

// Gathers one number from every rank.
std::vector<uint64_t> gather(Communicator& communicator, uint64_t mine) {
  std::vector<uint64_t> all(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(&mine, all.data(), sizeof(mine));
  return all;
}

void check_equal(const std::vector<uint64_t>& hashes, ErrorKind kind, const std::string& expected) {
  for (std::size_t r = 1; r < hashes.size(); ++r) {
    if (hashes[r] == hashes[0]) continue;
    throw Error(kind, fmt::format("expected {}, found hash {:016x} on rank 0 and {:016x} on rank {}", expected,
                                  hashes[0], hashes[r], r));
  }
}

}  // namespace

// The first failure among the replicas: others fail later, because they were woken.
struct ReplicaGroup::FirstFailure {
  std::mutex mutex;
  std::shared_ptr<const Error> error;

  void report(std::shared_ptr<const Error> failure) {
    const std::lock_guard lock(mutex);
    if (!error) error = std::move(failure);
  }
};

ReplicaGroup::ReplicaGroup(ProgramSource& source, const std::vector<Device>& devices, const Registry& registry,
                           const ReplicaOptions& options)
    : ReplicaGroup(source, devices, make_local_communicators(static_cast<int>(devices.size()), options.timeout_seconds),
                   registry, options) {}

ReplicaGroup::ReplicaGroup(ProgramSource& source, const std::vector<Device>& devices,
                           std::vector<std::unique_ptr<Communicator>> communicators, const Registry& registry,
                           const ReplicaOptions& options)
    : source_(source), communicators_(std::move(communicators)), failure_(std::make_unique<FirstFailure>()) {
  if (devices.empty() || devices.size() != communicators_.size()) {
    throw Error(ErrorKind::kDevice, fmt::format("expected one communicator for each of {} devices, found {}",
                                                devices.size(), communicators_.size()));
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    ExecutorOptions executor{.threads = devices[i].threads,
                             .winograd = options.winograd,
                             .winograd_for = options.winograd_for,
                             .max_priority = options.max_priority,
                             .delays = options.delays};
    executor.on_failure = [this](std::shared_ptr<const Error> error) { failure_->report(std::move(error)); };
    executors_.push_back(std::make_unique<Executor>(communicators_[i].get(), registry, executor));
  }
}

ReplicaGroup::~ReplicaGroup() = default;

void ReplicaGroup::check_usable() const {
  const std::lock_guard lock(failure_->mutex);
  if (!failure_->error) return;
  throw Error(ErrorKind::kDevice,
              fmt::format("the replicas cannot run again after a failure: {}", failure_->error->message()));
}

template <typename Begin>
std::vector<StepOutputs> ReplicaGroup::run_all(Begin&& begin) {
  check_usable();
  for (std::size_t r = 0; r < executors_.size(); ++r) begin(*executors_[r], r);
  std::vector<StepOutputs> outputs;
  std::shared_ptr<const Error> error;
  for (auto& executor : executors_) {
    try {
      outputs.push_back(executor->finish());
    } catch (...) {
      if (!error) error = current_error();
    }
  }
  if (error) {
    const std::lock_guard lock(failure_->mutex);
    throw Error(failure_->error ? *failure_->error : *error);
  }
  return outputs;
}

void ReplicaGroup::prepare(const ProgramKey& key) {
  if (prepared_.contains(key)) return;
  const Graph graph = source_.program(key);
  run_all([&](Executor& executor, std::size_t) { executor.begin_prepare(key, graph); });
  // Replicas of one step run one mode, each with its own number of rows.
  std::vector<const Plan*> plans;
  const auto same_mode =
      std::find_if(prepared_.begin(), prepared_.end(), [&](const ProgramKey& other) { return other.mode == key.mode; });
  if (same_mode != prepared_.end()) plans.push_back(&executors_[0]->plan(*same_mode));
  for (const auto& executor : executors_) plans.push_back(&executor->plan(key));
  verify_collectives_agree(plans);
  prepared_.insert(key);
}

const Plan& ReplicaGroup::plan(const ProgramKey& key, int replica) {
  prepare(key);
  return executors_[static_cast<std::size_t>(replica)]->plan(key);
}

std::vector<StepOutputs> ReplicaGroup::run(ProgramMode mode, const std::vector<StepFeeds>& feeds) {
  if (feeds.size() != executors_.size()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected feeds for {} replicas, found {}", executors_.size(), feeds.size()));
  }
  // All is checked before anything runs: a replica that starts alone would wait for the others.
  for (std::size_t r = 0; r < feeds.size(); ++r) {
    const ProgramKey key{mode, feeds[r].local_batch};
    prepare(key);
    executors_[r]->check_feeds(key, feeds[r]);
  }
  return run_all([&](Executor& executor, std::size_t r) {
    executor.begin_run({mode, feeds[r].local_batch}, feeds[r]);
  });
}

void ReplicaGroup::write_all(const std::string& name, const HostTensor& tensor) {
  for (auto& executor : executors_) executor->store().write(name, tensor);
}

void ReplicaGroup::broadcast_state(const std::set<std::string>& own) {
  run_all([&](Executor& executor, std::size_t) {
    executor.begin_communication([&](Communicator& communicator, ParameterStore& store) {
      check_equal(gather(communicator, store.signature()), ErrorKind::kModel,
                  "the same parameters and state on every replica; start all with one model and the same options");
      for (const auto& [name, entry] : store.entries()) {
        if (!own.contains(name)) communicator.broadcast(entry.data, entry.bytes, 0);
      }
    });
  });
}

uint64_t ReplicaGroup::check_parameters_equal() {
  run_all([](Executor& executor, std::size_t) {
    executor.begin_communication([](Communicator& communicator, ParameterStore& store) {
      check_equal(gather(communicator, store.hash(Role::kParameter)), ErrorKind::kRun,
                  "the same parameters on every replica");
    });
  });
  return executors_[0]->store().hash(Role::kParameter);
}

void ReplicaGroup::start_trace() {
  const auto origin = std::chrono::steady_clock::now();
  for (auto& executor : executors_) executor->start_trace(origin);
}

Trace ReplicaGroup::stop_trace() {
  Trace trace;
  for (auto& executor : executors_) {
    Trace part = executor->stop_trace();
    std::move(part.entries.begin(), part.entries.end(), std::back_inserter(trace.entries));
  }
  return trace;
}

}  // namespace onward
