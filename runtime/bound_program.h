#pragma once
#include <array>
#include <memory>
#include <vector>

#include "runtime/event.h"
#include "runtime/memory_block.h"
#include "runtime/parameter_store.h"
#include "runtime/planner.h"

namespace onward {

struct Feed;
struct StepFeeds;

// A step with its pointers, ready to run.
struct BoundStep {
  const PlanStep* step = nullptr;
  Kernel* kernel = nullptr;  // nullptr: a conversion or copy
  KernelContext context;
  std::vector<Event*> waits;
  Event* record = nullptr;
  // Conversions and copies: what they move.
  const PlanBuffer* source = nullptr;
  const PlanBuffer* target = nullptr;

  void run();
};

// A prepared plan with its place in memory: pointers of every operand, one list of steps per stream, events, and the
// tensors bound to its inputs. Belongs to one executor.
class BoundProgram {
 public:
  BoundProgram(PreparedPlan prepared, ParameterStore& store);

  const Plan& plan() const { return prepared_.plan; }
  std::vector<BoundStep>& steps(int stream) { return steps_[static_cast<std::size_t>(stream)]; }

  // Computes all pointers; again after the arena or a workspace moved.
  void bind(const MemoryBlock& arena, const std::array<MemoryBlock, kStreams>& workspaces, Communicator* communicator);

  // Error(kModel) if an input is missing or does not fit.
  void check_feeds(const StepFeeds& feeds) const;
  // Keeps what was fed until release_feeds(). Cheap: the caller's thread.
  void take_feeds(const StepFeeds& feeds);
  // Converts what has to be converted and points the steps at the inputs: the compute stream.
  void bind_feeds();
  void release_feeds();

  // One more run: the ticket that all its events carry.
  uint64_t announce();
  Event inputs_ready;        // bind_feeds() is done
  Event communication_done;  // the list of the communication stream is done

  // The value of an output after a run, row-major.
  HostTensor output(const PlanOutput& output) const;

 private:
  struct BoundInput {
    HostTensor fed;  // as the caller gave it
    Layout layout = Layout::kRowMajor;
    HostTensor held;                     // type and layout of the plan, when the caller's were different
    std::vector<const void**> pointers;  // operands to set
  };

  void* address(const PlanBuffer& buffer) const;
  void check_tensor(const PlanInput& input, const HostTensor& tensor) const;
  const void* bound_address(const PlanBuffer& buffer, BoundInput& input);
  BoundStep bind_step(std::size_t index);

  PreparedPlan prepared_;
  ParameterStore& store_;
  std::byte* arena_ = nullptr;
  std::unique_ptr<Event[]> events_;
  std::vector<BoundInput> inputs_;
  std::vector<std::vector<const void*>> input_pointers_;  // per step
  std::vector<std::vector<void*>> output_pointers_;
  std::array<std::vector<BoundStep>, kStreams> steps_;
};

}  // namespace onward
