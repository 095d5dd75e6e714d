#include "runtime/autotune.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <list>

#include "ops/core/layout.h"
#include "runtime/memory_block.h"
#include "runtime/stream.h"

namespace onward {

namespace {

constexpr int kRuns = 4;  // of each kernel; the first warms up, the fastest counts
// Winograd rounds more: it has to be worth it.
constexpr double kWorthwhile = 0.95;

// A kernel with memory of its own for every operand.
class Trial {
 public:
  Trial(const KernelDef& def, KernelSpec spec) {
    assign_layouts(def, Layout::kRowMajor, spec);
    kernel_ = def.make(spec);
    for (const Operand& operand : spec.inputs) inputs_.push_back(operand.present ? memory(operand.bytes()) : nullptr);
    for (const Operand& operand : spec.outputs) outputs_.push_back(operand.present ? memory(operand.bytes()) : nullptr);
    context_ = {.inputs = inputs_.data(), .outputs = outputs_.data(), .workspace = memory(kernel_->workspace_bytes())};
  }

  double fastest_seconds() {
    double best = 0;
    for (int run = 0; run < kRuns; ++run) {
      const auto begin = std::chrono::steady_clock::now();
      kernel_->run(context_);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (run > 0) best = run == 1 ? seconds : std::min(best, seconds);
    }
    return best;
  }

 private:
  std::byte* memory(std::size_t bytes) {
    MemoryBlock& block = blocks_.emplace_back();
    block.reserve(bytes);
    if (bytes) std::memset(block.data(), 0, bytes);
    return block.data();
  }

  std::unique_ptr<Kernel> kernel_;
  std::list<MemoryBlock> blocks_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  KernelContext context_;
};

// The kernel of a spec that may use Winograd; nullptr where that makes no difference.
const KernelDef* winograd_kernel(KernelSpec spec, const Registry& registry, const PlannerOptions& options) {
  const KernelDef* direct = registry.kernel(spec, options.backend, options.max_priority);
  spec.winograd = true;
  const KernelDef* winograd = registry.kernel(spec, options.backend, options.max_priority);
  return winograd == direct ? nullptr : winograd;
}

// Images, which kernels take channels-last, are split over the batch; weights are not.
std::string key_of(const KernelDef& def, const KernelSpec& spec) {
  std::string key = spec.op.name;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    if (!spec.has_input(i)) continue;
    const Shape& shape = spec.inputs[i].shape;
    const bool image = def.input_layout(i) == OperandLayout::kChannelsLast && !shape.empty();
    key += ":" + to_string(Shape(shape.begin() + image, shape.end()));
  }
  return key;
}

}  // namespace

std::map<std::string, KernelSpec> winograd_choices(const Graph& graph, const Registry& registry,
                                                   const PlannerOptions& options) {
  std::map<std::string, KernelSpec> choices;
  for (const auto& node : graph.nodes()) {
    KernelSpec spec = kernel_spec(*node, options.threads, options.rank, options.replicas);
    const KernelDef* winograd = winograd_kernel(spec, registry, options);
    if (winograd) choices.try_emplace(key_of(*winograd, spec), std::move(spec));
  }
  return choices;
}

std::set<std::string> autotune(const Graph& graph, const Registry& registry, const PlannerOptions& options) {
  std::set<std::string> faster;
  Stream stream({.name = "autotune", .team = options.threads});
  stream.enqueue([&] {
    for (const auto& [key, spec] : winograd_choices(graph, registry, options)) {
      const KernelDef* direct = registry.kernel(spec, options.backend, options.max_priority);
      const double of_direct = Trial(*direct, spec).fastest_seconds();
      KernelSpec fast = spec;
      fast.winograd = true;
      const KernelDef* winograd = registry.kernel(fast, options.backend, options.max_priority);
      if (Trial(*winograd, fast).fastest_seconds() < kWorthwhile * of_direct) faster.insert(key);
    }
  });
  stream.synchronise();
  return faster;
}

bool prefers_winograd(const KernelSpec& spec, const Registry& registry, const PlannerOptions& options) {
  if (options.winograd_for.empty()) return false;
  const KernelDef* winograd = winograd_kernel(spec, registry, options);
  return winograd && options.winograd_for.contains(key_of(*winograd, spec));
}

}  // namespace onward
