#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ops/core/program_source.h"
#include "runtime/device.h"
#include "runtime/executor.h"

namespace onward {

struct ReplicaOptions {
  bool winograd = false;
  std::set<std::string> winograd_for;  // see PlannerOptions
  int max_priority = 1 << 30;          // 0: plain reference kernels only
  RandomDelays delays;                 // test hook
  double timeout_seconds = 600;        // of a collective
};

// The replicas of this process, one executor each, and the programs they run. Steps run on all replicas at once;
// programs are made and planned when first needed and kept. When one replica fails the others are woken, the first
// cause is thrown with the node and the replica, and the group cannot run again.
class ReplicaGroup {
 public:
  // Replicas that talk to one another only.
  ReplicaGroup(ProgramSource& source, const std::vector<Device>& devices, const Registry& registry,
               const ReplicaOptions& options = {});
  // Replicas of a larger group: one communicator per device, whose ranks are the global ones.
  ReplicaGroup(ProgramSource& source, const std::vector<Device>& devices,
               std::vector<std::unique_ptr<Communicator>> communicators, const Registry& registry,
               const ReplicaOptions& options = {});
  ~ReplicaGroup();

  // Replicas in this process. Arguments named `replica` count from 0 within the process.
  int size() const { return static_cast<int>(executors_.size()); }

  // Makes and plans the program on every replica, if it is not there yet, and adds its parameters and state to the
  // stores.
  void prepare(const ProgramKey& key);
  // Prepares the key if necessary.
  const Plan& plan(const ProgramKey& key, int replica = 0);

  // Runs one step: replica r runs the program (mode, feeds[r].local_batch). Returns the outputs of each replica.
  std::vector<StepOutputs> run(ProgramMode mode, const std::vector<StepFeeds>& feeds);

  // Parameters and state, between steps. Filled by prepare().
  ParameterStore& store(int replica) { return executors_[static_cast<std::size_t>(replica)]->store(); }
  // Writes one value on every replica of this process.
  void write_all(const std::string& name, const HostTensor& tensor);
  // Every replica of all processes takes the parameters and state of global rank 0, but for the names in `own`, of
  // which each keeps its value. Error(kModel) on every replica if the stores do not have the same names and types.
  void broadcast_state(const std::set<std::string>& own = {});
  // Error(kRun) on every replica, naming ranks and hashes, if the parameters are not the same bits on all replicas of
  // all processes. Returns the hash.
  uint64_t check_parameters_equal();

  // Records the steps of all replicas from now on. Times of one trace have one origin.
  void start_trace();
  Trace stop_trace();

 private:
  void check_usable() const;
  template <typename Begin>
  std::vector<StepOutputs> run_all(Begin&& begin);

  struct FirstFailure;

  ProgramSource& source_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::unique_ptr<FirstFailure> failure_;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::set<ProgramKey> prepared_;  // on all replicas, and their collectives agree
};

}  // namespace onward
