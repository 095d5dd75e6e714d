#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/layout.h"
#include "ops/core/kernel.h"

namespace onward {

// Where a buffer lives.
enum class Memory : uint8_t {
  kArena,     // the plan's scratch memory, reused within a step
  kStore,     // a parameter or state of the ParameterStore
  kInput,     // bound before each step; never written
  kConstant,  // made with the plan; never written
};
std::string memory_name(Memory memory);

inline constexpr std::size_t kAlignment = 64;  // of every buffer, in bytes

// One tensor in memory: a value of the graph in one layout. Several buffers may hold one value (a converted copy) and
// several may share bytes (views, in-place outputs, reuse over time).
struct PlanBuffer {
  std::string value;
  DType dtype = DType::kUndefined;
  Shape shape;  // logical: N, C, spatial
  Layout layout = Layout::kRowMajor;
  std::size_t bytes = 0;
  Memory memory = Memory::kArena;
  int place = -1;          // kStore, kInput, kConstant: index into Plan::stored, inputs, constants
  std::size_t offset = 0;  // kArena: bytes from its start
  int storage = -1;        // kArena: buffers with one number share memory on purpose; others only by reuse over time
  int content = -1;        // what the bytes mean: views share it, each write makes a new one
};

enum class StepKind : uint8_t { kKernel, kConvert, kCopy };

// One thing to run.
struct PlanStep {
  StepKind kind = StepKind::kKernel;
  OpId op;                  // kKernel only
  std::string node;         // how messages name it: "conv1 (Conv)", "layout of x", "update of w"
  std::string origin;       // of the node: "backward of conv1"
  std::string kernel;       // the implementation: "onednn brgconv"
  std::vector<int> inputs;  // buffers; -1 where absent
  std::vector<int> outputs;
  int stream = 0;          // kComputeStream or kCommunicationStream
  std::vector<int> waits;  // events that must be complete before the step starts
  int record = -1;         // event that the step completes; -1: none
  int collective = -1;     // id in the total order of collectives; -1: none
  int reorders = 0;        // layout copies inside the kernel
  std::size_t workspace_bytes = 0;
  double flops = 0;
};

inline constexpr int kComputeStream = 0;
inline constexpr int kCommunicationStream = 1;
inline constexpr int kStreams = 2;
std::string stream_name(int stream);  // "compute", "communication"

struct PlanInput {
  std::string name;
  Role role = Role::kInput;
  int buffer = -1;  // its layout is the one in which a loader should deliver the input
};

struct PlanOutput {
  std::string name;
  int buffer = -1;  // the executor hands outputs back row-major, whatever this buffer's layout
};

// After the steps the stored value must hold `content`.
struct PlanUpdate {
  int stored = -1;
  int content = -1;
  bool in_place = false;  // written by the producing kernel itself, without a copy
};

// What one replica runs in one step, as plain data. Steps are in an order that respects all dependencies; each stream
// runs its own steps in that order.
struct Plan {
  std::string name;
  Backend backend = Backend::kCpu;
  int rank = 0;
  int replicas = 1;
  int threads = 1;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanStep> steps;
  std::vector<PlanInput> inputs;
  std::vector<PlanOutput> outputs;
  std::vector<std::string> stored;     // names of the parameters and state in use
  std::vector<std::string> constants;  // names
  std::vector<PlanUpdate> updates;
  int events = 0;
  std::size_t arena_bytes = 0;
  std::size_t live_bytes = 0;  // the most bytes that hold live values at one time: a lower bound of arena_bytes

  // Conversions of layouts between kernels, and copies for that purpose inside them.
  int conversions() const;
  int reorders() const;
  int collectives() const;
  double flops() const;
  // The workspace that a stream needs.
  std::size_t workspace_bytes(int stream) const;
  // Bytes that a step reads and writes.
  std::size_t step_bytes(const PlanStep& step) const;
};

// The plan for people, one line a step, and as one JSON object. Deterministic.
std::string print(const Plan& plan);
std::string to_json(const Plan& plan);

}  // namespace onward
