#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/layout.h"

namespace onward {

class Communicator;
struct DeviceContext;  // ops/core/cuda/device_context.h

enum class Backend : uint8_t { kCpu, kCuda };
std::string backend_name(Backend backend);

// One tensor as a kernel meets it: logical shape (N, C, spatial) and physical layout.
struct Operand {
  bool present = false;
  DType dtype = DType::kUndefined;
  Shape shape;
  Layout layout = Layout::kRowMajor;

  int64_t count() const { return element_count(shape); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * dtype_size(dtype); }
};

// All a kernel is prepared from.
struct KernelSpec {
  OpId op;
  std::string node;  // how messages name the node
  Attributes attributes;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  int threads = 1;
  int rank = 0;  // of the replica
  int replicas = 1;
  bool winograd = false;  // allow algorithms that change rounding beyond the order of additions
  // Of the GPU that the kernel is prepared for; null on the CPU. It outlives the kernel.
  DeviceContext* device = nullptr;

  bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i].present; }
  bool has_output(std::size_t i) const { return i < outputs.size() && outputs[i].present; }
};

// The buffers of one run. Buffers are 64-byte aligned. An absent operand is a null pointer. Outputs hold garbage on
// entry, except where an in-place pair shares them with an input.
struct KernelContext {
  const void* const* inputs = nullptr;
  void* const* outputs = nullptr;
  void* workspace = nullptr;             // Kernel::workspace_bytes() bytes, contents undefined
  Communicator* communicator = nullptr;  // for ops that communicate
  void* stream = nullptr;                // of the device that runs the kernel: a cudaStream_t; on the CPU nothing

  template <typename T>
  const T* in(std::size_t i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <typename T>
  T* out(std::size_t i) const {
    return static_cast<T*>(outputs[i]);
  }
};

// Prepared once for static shapes, run many times, on the calling thread and its team (ops/core/parallel.h) or on the
// context's stream. It never allocates, never blocks (but for collectives on the CPU) and reads no globals. A batch of
// zero rows is valid: sums over it are zero.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::size_t workspace_bytes() const { return 0; }
  virtual void run(const KernelContext& context) = 0;
  // The implementation, for plans and benchmarks: "onednn brgconv:avx512_core".
  virtual std::string describe() const { return "plain"; }
  // Copies inside a run that only change a layout (packing of weights); the plan counts them.
  virtual int reorders() const { return 0; }
};

// Which layout a kernel takes for an operand. kSame: any, but one for all kSame operands, if their shapes are equal;
// else row-major.
enum class OperandLayout : uint8_t { kRowMajor, kChannelsLast, kSame };

// The registration of one implementation.
struct KernelDef {
  OpId op;
  Backend backend = Backend::kCpu;
  DType dtype =
      DType::kFloat32;  // of the first floating input, else of the first floating output, else kUndefined: any
  int priority = 0;     // the highest that accepts the node wins; 0 is the plain reference
  // The last entry stands for all further operands; empty: all row-major.
  std::vector<OperandLayout> input_layouts;
  std::vector<OperandLayout> output_layouts;
  bool (*accepts)(const KernelSpec&) = nullptr;  // nullptr: all. Layouts are not decided yet when it is asked.
  std::unique_ptr<Kernel> (*make)(const KernelSpec&) = nullptr;

  OperandLayout input_layout(std::size_t i) const;
  OperandLayout output_layout(std::size_t i) const;
};

// The dtype by which a node's kernel is looked up, see KernelDef::dtype.
DType kernel_dtype(const KernelSpec& spec);

// KernelDef::dtype of a kernel for elements of type T. Those of integers are found under kUndefined, the type of nodes
// without a floating operand.
template <typename T>
DType registered_dtype() {
  return is_floating(dtype_of<T>()) ? dtype_of<T>() : DType::kUndefined;
}

// KernelDef::accepts of kernels that the look-up by dtype does not tell apart: those of one integer type, and those
// whose first input has a type of its own.
template <typename T>
bool first_input_is(const KernelSpec& spec) {
  return spec.inputs[0].dtype == dtype_of<T>();
}
template <typename T>
bool first_output_is(const KernelSpec& spec) {
  return spec.outputs[0].dtype == dtype_of<T>();
}

// An operand that a node may leave out, also at the end of its list; nullptr if it does.
template <typename T>
const T* optional_input(const KernelSpec& spec, const KernelContext& context, std::size_t i) {
  return spec.has_input(i) ? context.in<T>(i) : nullptr;
}
template <typename T>
T* optional_output(const KernelSpec& spec, const KernelContext& context, std::size_t i) {
  return spec.has_output(i) ? context.out<T>(i) : nullptr;
}

// A kernel that is one function of its spec and buffers.
using KernelFunction = void (*)(const KernelSpec&, const KernelContext&);
template <KernelFunction kRun>
std::unique_ptr<Kernel> make_function_kernel(const KernelSpec& spec) {
  class FunctionKernel final : public Kernel {
   public:
    explicit FunctionKernel(const KernelSpec& s) : spec_(s) {}
    void run(const KernelContext& context) override { kRun(spec_, context); }

   private:
    KernelSpec spec_;
  };
  return std::make_unique<FunctionKernel>(spec);
}

}  // namespace onward
