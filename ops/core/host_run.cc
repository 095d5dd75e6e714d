// One node, one kernel, no plan: buffers are made for the run and thrown away.
#include "ops/core/host_run.h"

#include <fmt/format.h>

#include <cstring>

#include "graph/error.h"
#include "ops/core/layout.h"

namespace onward {

namespace {

const KernelDef& choose_kernel(const KernelSpec& spec, const Registry& registry, const HostRunOptions& options) {
  if (options.kernel) return *options.kernel;
  if (const KernelDef* def = registry.kernel(spec, Backend::kCpu, options.max_priority)) return *def;
  throw Error(ErrorKind::kModel, fmt::format("{}: no CPU kernel of {} for {}", spec.node, to_string(spec.op),
                                             dtype_name(kernel_dtype(spec))));
}

void check_inputs(const Node& node, const std::vector<HostTensor>& inputs) {
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* value = node.input(i);
    const bool given = i < inputs.size() && !inputs[i].empty();
    if (!value && !given) continue;
    if (!value || !given || inputs[i].dtype() != value->type.dtype || inputs[i].shape() != value->type.shape()) {
      throw Error(ErrorKind::kModel,
                  fmt::format("{}: expected {} as input {}, found {}", node.text(),
                              value ? value->type.text() : "nothing", i, given ? inputs[i].type().text() : "nothing"));
    }
  }
}

// A private buffer in the layout that the operand asks for.
HostTensor make_buffer(const Operand& operand, bool nan) {
  HostTensor buffer(operand.dtype, operand.shape);
  if (nan) std::memset(buffer.edit(), 0xff, buffer.bytes());
  return buffer;
}

HostTensor to_layout(const HostTensor& tensor, Layout from, Layout to) {
  HostTensor converted(tensor.dtype(), tensor.shape());
  convert_layout(tensor.data(), from, converted.edit(), to, tensor.shape(), dtype_size(tensor.dtype()));
  return converted;
}

// The buffers of a run: outputs of in-place pairs are those of their inputs.
struct Buffers {
  std::vector<HostTensor> inputs, outputs;
  std::vector<const void*> input_pointers;
  std::vector<void*> output_pointers;
};

// The first pair that fits wins for each output, and each input is overwritten by one output at most, as in a plan.
void share_in_place(const Node& node, const OpDef& def, const KernelSpec& spec, Buffers& buffers) {
  std::vector<bool> taken(spec.inputs.size()), shared(spec.outputs.size());
  for (const InPlacePair& pair : in_place_pairs(def, node)) {
    const auto in = static_cast<std::size_t>(pair.input), out = static_cast<std::size_t>(pair.output);
    if (!spec.has_input(in) || !spec.has_output(out)) continue;
    const Operand &from = spec.inputs[in], &to = spec.outputs[out];
    if (taken[in] || shared[out] || from.bytes() != to.bytes() || from.layout != to.layout) continue;
    taken[in] = shared[out] = true;
    buffers.output_pointers[out] = buffers.inputs[in].edit();
    buffers.input_pointers[in] = buffers.output_pointers[out];
  }
}

Buffers make_buffers(const KernelSpec& spec, const std::vector<HostTensor>& inputs, bool nan) {
  Buffers buffers;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    buffers.inputs.push_back(spec.inputs[i].present ? to_layout(inputs[i], Layout::kRowMajor, spec.inputs[i].layout)
                                                    : HostTensor());
    buffers.input_pointers.push_back(buffers.inputs[i].data());
  }
  for (const Operand& operand : spec.outputs) {
    buffers.outputs.push_back(operand.present ? make_buffer(operand, nan) : HostTensor());
    buffers.output_pointers.push_back(operand.present ? buffers.outputs.back().edit() : nullptr);
  }
  return buffers;
}

}  // namespace

std::vector<HostTensor> run_node_on_host(const Node& node, const std::vector<HostTensor>& inputs,
                                         const Registry& registry, const HostRunOptions& options) {
  check_inputs(node, inputs);
  KernelSpec spec = kernel_spec(node, options.threads, options.rank, options.replicas);
  const KernelDef& def = choose_kernel(spec, registry, options);
  assign_layouts(def, options.same_layout, spec);
  const std::unique_ptr<Kernel> kernel = def.make(spec);

  Buffers buffers = make_buffers(spec, inputs, options.fill_with_nan);
  if (options.in_place) share_in_place(node, registry.op(node.op()), spec, buffers);
  const auto workspace_bytes = static_cast<int64_t>(kernel->workspace_bytes());
  HostTensor workspace = make_buffer({true, DType::kUInt8, {workspace_bytes}}, options.fill_with_nan);
  kernel->run({.inputs = buffers.input_pointers.data(),
               .outputs = buffers.output_pointers.data(),
               .workspace = workspace.edit(),
               .communicator = options.communicator});

  std::vector<HostTensor> outputs;
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    const Operand& operand = spec.outputs[i];
    if (!operand.present) {
      outputs.emplace_back();
      continue;
    }
    HostTensor result(operand.dtype, operand.shape);
    convert_layout(buffers.output_pointers[i], operand.layout, result.edit(), Layout::kRowMajor, operand.shape,
                   dtype_size(operand.dtype));
    outputs.push_back(std::move(result));
  }
  return outputs;
}

}  // namespace onward
