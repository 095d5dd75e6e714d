// A step is two items of work, one for each stream: the list of its steps, with event waits inside.
#include "runtime/executor.h"

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "runtime/bound_program.h"

namespace onward {

namespace {

std::string text_of(const ProgramKey& key) {
  constexpr const char* kNames[] = {"train", "accumulate-first", "accumulate-next", "train-accumulated", "evaluate"};
  return fmt::format("{} with {} rows", kNames[static_cast<std::size_t>(key.mode)], key.local_batch);
}

using Clock = std::chrono::steady_clock;

struct Timing {
  const PlanStep* step;
  const Plan* plan;
  Clock::time_point begin, end;
};

}  // namespace

struct Executor::Implementation {
  Implementation(Communicator* communicator_, const Registry& registry_, const ExecutorOptions& options_)
      : communicator(communicator_),
        registry(registry_),
        options(options_),
        compute({fmt::format("compute {}", rank()), options.threads, options.delays}),
        communication({fmt::format("comm {}", rank()), 1, options.delays}) {}

  int rank() const { return communicator ? communicator->rank() : 0; }
  int replicas() const { return communicator ? communicator->size() : 1; }
  Stream& stream(int index) { return index == kComputeStream ? compute : communication; }

  BoundProgram& program(const ProgramKey& key) const {
    const auto found = programs.find(key);
    if (found == programs.end()) {
      throw Error(ErrorKind::kModel, fmt::format("the program {} was not prepared", text_of(key)));
    }
    return *found->second;
  }

  void prepare(const ProgramKey& key, const Graph& graph);
  void run_list(BoundProgram& bound, int stream_index, uint64_t ticket, std::shared_ptr<const Error> error = nullptr);
  std::shared_ptr<const Error> run_step(BoundStep& bound, const Plan& plan, Stream& on, uint64_t ticket);
  void run_compute(BoundProgram& bound, uint64_t ticket);
  void collect_outputs(BoundProgram& bound, uint64_t ticket);
  std::shared_ptr<const Error> fail(const std::string& where);

  Communicator* communicator;
  const Registry& registry;
  ExecutorOptions options;
  ParameterStore store;
  MemoryBlock arena;
  std::array<MemoryBlock, kStreams> workspaces;
  std::map<ProgramKey, std::unique_ptr<BoundProgram>> programs;
  BoundProgram* running = nullptr;
  StepOutputs outputs;

  std::mutex failure_mutex;
  std::shared_ptr<const Error> failure;

  bool tracing = false;
  Clock::time_point trace_origin;
  std::array<std::vector<Timing>, kStreams> timings;

  // Last, so that their threads end before anything they use.
  Stream compute;
  Stream communication;
};

// Called in a catch block. Keeps the first failure of the run and wakes the other replicas.
std::shared_ptr<const Error> Executor::Implementation::fail(const std::string& where) {
  Error error(*current_error());
  error.note(fmt::format("{} on replica {}", where, rank()));
  auto shared = std::make_shared<const Error>(std::move(error));
  {
    const std::lock_guard lock(failure_mutex);
    if (!failure) failure = shared;
  }
  if (options.on_failure) options.on_failure(shared);
  if (communicator) communicator->abort(fmt::format("replica {} failed: {}", rank(), shared->message()).c_str());
  return shared;
}

void Executor::Implementation::prepare(const ProgramKey& key, const Graph& graph) {
  PreparedPlan prepared = make_plan(graph, registry,
                                    {.threads = options.threads,
                                     .rank = rank(),
                                     .replicas = replicas(),
                                     .winograd = options.winograd,
                                     .winograd_for = options.winograd_for,
                                     .max_priority = options.max_priority});
  bool moved = arena.reserve(prepared.plan.arena_bytes);
  for (int s = 0; s < kStreams; ++s) {
    moved |= workspaces[static_cast<std::size_t>(s)].reserve(prepared.plan.workspace_bytes(s));
  }
  auto bound = std::make_unique<BoundProgram>(std::move(prepared), store);
  bound->bind(arena, workspaces, communicator);
  if (moved) {
    for (auto& [other_key, other] : programs) other->bind(arena, workspaces, communicator);
  }
  programs[key] = std::move(bound);
}

std::shared_ptr<const Error> Executor::Implementation::run_step(BoundStep& bound, const Plan& plan, Stream& on,
                                                                uint64_t ticket) {
  try {
    for (Event* event : bound.waits) event->wait(ticket);
  } catch (...) {
    return current_error();  // reported where it arose
  }
  try {
    on.delay();
    if (!tracing) {
      bound.run();
      return nullptr;
    }
    const auto begin = Clock::now();
    bound.run();
    timings[static_cast<std::size_t>(bound.step->stream)].push_back({bound.step, &plan, begin, Clock::now()});
    return nullptr;
  } catch (...) {
    return fail("while running " + bound.step->node);
  }
}

// After an error the rest of the list is skipped, but its events are completed, with the error, so that nobody waits
// for ever.
void Executor::Implementation::run_list(BoundProgram& bound, int stream_index, uint64_t ticket,
                                        std::shared_ptr<const Error> error) {
  Stream& on = stream(stream_index);
  for (BoundStep& step : bound.steps(stream_index)) {
    if (!error) error = run_step(step, bound.plan(), on, ticket);
    if (step.record) step.record->complete(ticket, error);
  }
  if (stream_index == kCommunicationStream) bound.communication_done.complete(ticket, error);
}

void Executor::Implementation::run_compute(BoundProgram& bound, uint64_t ticket) {
  std::shared_ptr<const Error> error;
  try {
    bound.bind_feeds();
  } catch (...) {
    error = fail("while binding inputs");
  }
  bound.inputs_ready.complete(ticket);
  run_list(bound, kComputeStream, ticket, error);
  collect_outputs(bound, ticket);
}

void Executor::Implementation::collect_outputs(BoundProgram& bound, uint64_t ticket) {
  try {
    bound.communication_done.wait(ticket);
    if (failure) return;
    for (const PlanOutput& output : bound.plan().outputs) outputs[output.name] = bound.output(output);
  } catch (...) {
    if (!failure) fail("while collecting outputs");
  }
}

Executor::Executor(Communicator* communicator, const Registry& registry, const ExecutorOptions& options)
    : implementation_(std::make_unique<Implementation>(communicator, registry, options)) {}

Executor::~Executor() = default;

int Executor::rank() const { return implementation_->rank(); }
ParameterStore& Executor::store() { return implementation_->store; }
const ParameterStore& Executor::store() const { return implementation_->store; }
bool Executor::has(const ProgramKey& key) const { return implementation_->programs.contains(key); }
const Plan& Executor::plan(const ProgramKey& key) const { return implementation_->program(key).plan(); }

void Executor::check_feeds(const ProgramKey& key, const StepFeeds& feeds) const {
  try {
    implementation_->program(key).check_feeds(feeds);
  } catch (Error& error) {
    error.note(fmt::format("for the program {} on replica {}", text_of(key), rank()));
    throw;
  }
}

void Executor::begin_prepare(const ProgramKey& key, const Graph& graph) {
  implementation_->store.add(graph);
  implementation_->compute.enqueue([this, key, &graph] {
    try {
      implementation_->prepare(key, graph);
    } catch (...) {
      Error error(*current_error());
      throw error.note(fmt::format("while planning the program {} on replica {}", text_of(key), rank()));
    }
  });
}

void Executor::begin_run(const ProgramKey& key, const StepFeeds& feeds) {
  check_feeds(key, feeds);
  Implementation& self = *implementation_;
  BoundProgram& bound = self.program(key);
  bound.take_feeds(feeds);
  self.running = &bound;
  const uint64_t ticket = bound.announce();
  self.compute.enqueue([&self, &bound, ticket] { self.run_compute(bound, ticket); });
  self.communication.enqueue([&self, &bound, ticket] {
    bound.inputs_ready.wait(ticket);
    self.run_list(bound, kCommunicationStream, ticket);
  });
}

void Executor::begin_communication(std::function<void(Communicator&, ParameterStore&)> work) {
  Implementation& self = *implementation_;
  self.communication.enqueue([&self, work = std::move(work)] {
    try {
      work(*self.communicator, self.store);
    } catch (...) {
      self.fail("while communicating");
    }
  });
}

StepOutputs Executor::finish() {
  Implementation& self = *implementation_;
  std::shared_ptr<const Error> error;
  for (Stream* stream : {&self.communication, &self.compute}) {
    try {
      stream->synchronise();
    } catch (...) {
      if (!error) error = current_error();
    }
  }
  if (self.running) self.running->release_feeds();
  self.running = nullptr;
  StepOutputs outputs = std::move(self.outputs);
  self.outputs.clear();
  if (const auto failure = std::exchange(self.failure, nullptr)) error = failure;
  if (error) throw Error(*error);
  return outputs;
}

void Executor::start_trace(std::chrono::steady_clock::time_point origin) {
  implementation_->trace_origin = origin;
  implementation_->tracing = true;
}

Trace Executor::stop_trace() {
  Implementation& self = *implementation_;
  const auto microseconds = [&](Clock::time_point time) {
    return std::chrono::duration<double, std::micro>(time - self.trace_origin).count();
  };
  Trace trace;
  for (std::vector<Timing>& list : self.timings) {
    for (const Timing& timing : list) {
      const PlanStep& step = *timing.step;
      const std::string op = step.kind == StepKind::kKernel ? to_string(step.op)
                             : step.kind == StepKind::kCopy ? "copy"
                                                            : "convert";
      trace.entries.push_back({step.node, op, rank(), step.stream, microseconds(timing.begin), microseconds(timing.end),
                               timing.plan->step_bytes(step), step.collective});
    }
    list.clear();
  }
  self.tracing = false;
  return trace;
}

}  // namespace onward
