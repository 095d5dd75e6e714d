#include "tests/support/kernel_driver.h"

#include <algorithm>
#include <cstring>

#include "graph/error.h"
#include "ops/core/communicator.h"
#include "ops/core/parallel.h"

namespace onward::test {

namespace {

// A group of one replica.
class LoneCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce_sum(void*, int64_t, DType) override {}
  void all_gather(const void* send, void* receive, std::size_t bytes) override { std::memcpy(receive, send, bytes); }
  void broadcast(void*, std::size_t, int) override {}
  void abort(const char*) override {}
};

constexpr std::size_t kGuard = 64;
constexpr auto kGuardByte = std::byte{0xa5};

// Aligned memory with guard bytes behind it.
class Buffer {
 public:
  Buffer(std::size_t bytes, std::byte fill)
      : bytes_(bytes), memory_((bytes + 63) / 64 * 64 + 2 * kGuard + 64, kGuardByte) {
    std::fill_n(data(), bytes, fill);
  }
  std::byte* data() {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + ((address + kGuard + 63) / 64 * 64 - address);
  }
  bool intact() {
    const std::byte* begin = memory_.data();
    const auto is_guard = [](std::byte b) { return b == kGuardByte; };
    return std::all_of(begin, static_cast<const std::byte*>(data()), is_guard) &&
           std::all_of(static_cast<const std::byte*>(data()) + bytes_, begin + memory_.size(), is_guard);
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> memory_;
};

}  // namespace

std::vector<MaybeTensor> run_kernel(const KernelDef& kernel, KernelSpec spec, const std::vector<MaybeTensor>& inputs,
                                    const KernelRun& run) {
  assign_layouts(kernel, run.same, spec);
  spec.threads = run.threads;
  prepare_compute_thread(run.threads);
  const std::unique_ptr<Kernel> prepared = kernel.make(spec);

  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<HostTensor> stored(inputs.size());
  std::vector<void*> in(std::max(spec.inputs.size(), inputs.size()), nullptr), out(spec.outputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    stored[i] = to_layout(*inputs[i], spec.inputs[i].layout);
    buffers.push_back(std::make_unique<Buffer>(stored[i].bytes(), std::byte{0}));
    if (stored[i].bytes()) std::memcpy(buffers.back()->data(), stored[i].data(), stored[i].bytes());
    in[i] = buffers.back()->data();
  }
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    if (!spec.outputs[i].present) continue;
    if (run.in_place && static_cast<std::size_t>(run.in_place->output) == i) {
      out[i] = in[static_cast<std::size_t>(run.in_place->input)];
      continue;
    }
    buffers.push_back(std::make_unique<Buffer>(spec.outputs[i].bytes(), std::byte{run.garbage}));
    out[i] = buffers.back()->data();
  }
  buffers.push_back(std::make_unique<Buffer>(prepared->workspace_bytes(), std::byte{run.garbage}));

  LoneCommunicator alone;
  KernelContext context{
      .inputs = in.data(), .outputs = out.data(), .workspace = buffers.back()->data(), .communicator = &alone};
  prepared->run(context);

  for (auto& buffer : buffers) {
    if (!buffer->intact()) throw Error(ErrorKind::kRun, spec.node + " wrote outside a buffer");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || (run.in_place && static_cast<std::size_t>(run.in_place->input) == i)) continue;
    if (stored[i].bytes() && std::memcmp(in[i], stored[i].data(), stored[i].bytes()) != 0) {
      throw Error(ErrorKind::kRun, spec.node + " changed input " + std::to_string(i));
    }
  }
  std::vector<MaybeTensor> results(spec.outputs.size());
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    const Operand& operand = spec.outputs[i];
    if (!operand.present) continue;
    HostTensor raw(operand.dtype, operand.shape);
    if (raw.bytes()) std::memcpy(raw.edit(), out[i], raw.bytes());
    results[i] = from_layout(raw, operand.layout);
  }
  return results;
}

std::vector<MaybeTensor> run_node(const Node& node, const std::vector<MaybeTensor>& inputs, int max_priority) {
  const KernelSpec spec = kernel_spec(node);
  const KernelDef* kernel = registry().kernel(spec, Backend::kCpu, max_priority);
  if (!kernel) throw Error(ErrorKind::kModel, "no kernel for " + node.text());
  return run_kernel(*kernel, spec, inputs);
}

}  // namespace onward::test
