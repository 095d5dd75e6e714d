#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "ops/core/communicator.h"
#include "ops/core/program_source.h"
#include "ops/core/registry.h"
#include "runtime/parameter_store.h"
#include "runtime/plan.h"
#include "runtime/planner.h"
#include "runtime/stream.h"
#include "runtime/trace.h"

namespace onward {

// A tensor for one input. The bytes may be channels-last already: the plan says what it prefers, Plan::inputs; anything
// else is converted. The logical shape of `tensor` is N, C, spatial in both cases.
struct Feed {
  HostTensor tensor;
  Layout layout = Layout::kRowMajor;
};

// All that one replica needs for one step.
struct StepFeeds {
  int64_t local_batch = 0;              // rows of this replica's share, may be 0
  std::map<std::string, Feed> tensors;  // by input name; names that the program does not have are ignored
  std::map<std::string, double>
      scalars;  // graph/scalars.h; converted to the input's type; superfluous ones are ignored
};

using StepOutputs = std::map<std::string, HostTensor>;  // row-major, by output name

struct ExecutorOptions {
  int threads = 1;  // of the compute stream
  bool winograd = false;
  std::set<std::string> winograd_for;  // see PlannerOptions
  int max_priority = 1 << 30;          // 0: plain reference kernels only
  RandomDelays delays;
  // Told of a failure before the other members of the communicator are woken; called on the stream that failed.
  std::function<void(std::shared_ptr<const Error>)> on_failure;
};

// Runs the programs of one replica: owns its streams, its arena, its ParameterStore and its plans. The begin_ functions
// return at once; finish() waits for what was begun and throws its first error, with notes naming node and replica. One
// thing at a time.
class Executor {
 public:
  // `communicator` may be null for a single replica; it outlives the executor. Only the communication stream calls it.
  Executor(Communicator* communicator, const Registry& registry, const ExecutorOptions& options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  int rank() const;
  ParameterStore& store();
  const ParameterStore& store() const;

  // Plans the graph (on the compute stream) and keeps it under the key; adds its parameters and state to the store. The
  // graph lives until finish().
  void begin_prepare(const ProgramKey& key, const Graph& graph);
  bool has(const ProgramKey& key) const;
  // Error(kModel) for a key that was not prepared.
  const Plan& plan(const ProgramKey& key) const;

  // Error(kModel) if an input of the program is missing or does not fit. A floating tensor may have another floating
  // type, an integer tensor another integer type: it is converted.
  void check_feeds(const ProgramKey& key, const StepFeeds& feeds) const;
  // Runs one step of a prepared program; checks the feeds first.
  void begin_run(const ProgramKey& key, const StepFeeds& feeds);
  // Runs `work` on the communication stream.
  void begin_communication(std::function<void(Communicator&, ParameterStore&)> work);
  // Outputs of the run; empty after the other begin_ functions. The failure is also reported to `communicator`, whose
  // other members then wake with an error.
  StepOutputs finish();

  // Records steps from now on, or stops. Times of the trace count from `origin`.
  void start_trace(std::chrono::steady_clock::time_point origin);
  Trace stop_trace();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace onward
