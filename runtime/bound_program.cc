#include "runtime/bound_program.h"

#include <fmt/format.h>

#include <cstring>

#include "graph/error.h"
#include "ops/core/layout.h"
#include "runtime/executor.h"

namespace onward {

namespace {

bool convertible(DType from, DType to) {
  return from == to || (is_floating(from) && is_floating(to)) || (is_integer(from) && is_integer(to));
}

}  // namespace

void BoundStep::run() {
  if (kernel) {
    kernel->run(context);
    return;
  }
  convert_layout(context.inputs[0], source->layout, context.outputs[0], target->layout, source->shape,
                 dtype_size(source->dtype));
}

BoundProgram::BoundProgram(PreparedPlan prepared, ParameterStore& store)
    : prepared_(std::move(prepared)),
      store_(store),
      events_(new Event[static_cast<std::size_t>(prepared_.plan.events)]),
      inputs_(prepared_.plan.inputs.size()) {}

void* BoundProgram::address(const PlanBuffer& buffer) const {
  const auto place = static_cast<std::size_t>(buffer.place);
  switch (buffer.memory) {
    case Memory::kArena: return arena_ + buffer.offset;
    case Memory::kStore: return store_.entry(plan().stored[place]).data;
    case Memory::kConstant:
      return const_cast<void*>(prepared_.constants[place].data());  // the plan never writes constants
    case Memory::kInput: return nullptr;                            // set by bind_feeds()
  }
  return nullptr;
}

void BoundProgram::bind(const MemoryBlock& arena, const std::array<MemoryBlock, kStreams>& workspaces,
                        Communicator* communicator) {
  arena_ = arena.data();
  const std::size_t count = plan().steps.size();
  input_pointers_.assign(count, {});
  output_pointers_.assign(count, {});
  for (std::vector<BoundStep>& list : steps_) list.clear();
  for (BoundInput& input : inputs_) input.pointers.clear();
  for (std::size_t i = 0; i < count; ++i) {
    BoundStep bound = bind_step(i);
    const auto stream = static_cast<std::size_t>(bound.step->stream);
    bound.context.workspace = workspaces[stream].data();
    bound.context.communicator = communicator;
    steps_[stream].push_back(std::move(bound));
  }
}

BoundStep BoundProgram::bind_step(std::size_t index) {
  const Plan& plan = prepared_.plan;
  BoundStep bound;
  bound.step = &plan.steps[index];
  bound.kernel = prepared_.kernels[index].get();
  std::vector<const void*>& inputs = input_pointers_[index];
  std::vector<void*>& outputs = output_pointers_[index];
  const auto buffer = [&](int b) -> const PlanBuffer& { return plan.buffers[static_cast<std::size_t>(b)]; };
  for (int input : bound.step->inputs) inputs.push_back(input < 0 ? nullptr : address(buffer(input)));
  for (int output : bound.step->outputs) outputs.push_back(output < 0 ? nullptr : address(buffer(output)));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int input = bound.step->inputs[i];
    if (input < 0 || buffer(input).memory != Memory::kInput) continue;
    inputs_[static_cast<std::size_t>(buffer(input).place)].pointers.push_back(&inputs[i]);
  }
  bound.context.inputs = inputs.data();
  bound.context.outputs = outputs.data();
  for (int event : bound.step->waits) bound.waits.push_back(&events_[static_cast<std::size_t>(event)]);
  if (bound.step->record >= 0) bound.record = &events_[static_cast<std::size_t>(bound.step->record)];
  if (!bound.kernel) {
    bound.source = &buffer(bound.step->inputs[0]);
    bound.target = &buffer(bound.step->outputs[0]);
  }
  return bound;
}

void BoundProgram::check_tensor(const PlanInput& input, const HostTensor& tensor) const {
  const PlanBuffer& buffer = plan().buffers[static_cast<std::size_t>(input.buffer)];
  if (convertible(tensor.dtype(), buffer.dtype) && tensor.shape() == buffer.shape) return;
  throw Error(ErrorKind::kModel,
              fmt::format("expected {} for the input '{}', found {}", TensorType(buffer.dtype, buffer.shape).text(),
                          input.name, tensor.empty() ? "an empty tensor" : tensor.type().text()));
}

void BoundProgram::check_feeds(const StepFeeds& feeds) const {
  for (const PlanInput& input : plan().inputs) {
    const auto tensor = feeds.tensors.find(input.name);
    if (tensor != feeds.tensors.end()) {
      check_tensor(input, tensor->second.tensor);
    } else if (!plan().buffers[static_cast<std::size_t>(input.buffer)].shape.empty() ||
               !feeds.scalars.contains(input.name)) {
      const PlanBuffer& buffer = plan().buffers[static_cast<std::size_t>(input.buffer)];
      throw Error(ErrorKind::kModel,
                  fmt::format("expected a value for the {} '{}' ({}), found none", role_name(input.role), input.name,
                              TensorType(buffer.dtype, buffer.shape).text()));
    }
  }
}

void BoundProgram::take_feeds(const StepFeeds& feeds) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto tensor = feeds.tensors.find(plan().inputs[i].name);
    if (tensor == feeds.tensors.end()) {
      inputs_[i].fed = HostTensor::scalar<double>(feeds.scalars.at(plan().inputs[i].name));
      inputs_[i].layout = Layout::kRowMajor;
    } else {
      inputs_[i].fed = tensor->second.tensor;
      inputs_[i].layout = tensor->second.layout;
    }
  }
}

// The caller's memory where it is as the plan wants it, else a converted copy.
const void* BoundProgram::bound_address(const PlanBuffer& buffer, BoundInput& input) {
  HostTensor source = input.fed.cast(buffer.dtype);
  if (layouts_agree(buffer.shape, input.layout, buffer.layout)) {
    input.held = std::move(source);
    return input.held.data();
  }
  if (input.held.empty() || input.held.data() == input.fed.data()) input.held = HostTensor(buffer.dtype, buffer.shape);
  void* target = input.held.edit();
  convert_layout(source.data(), input.layout, target, buffer.layout, buffer.shape, dtype_size(buffer.dtype));
  return target;
}

void BoundProgram::bind_feeds() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const PlanBuffer& buffer = plan().buffers[static_cast<std::size_t>(plan().inputs[i].buffer)];
    const void* address = bound_address(buffer, inputs_[i]);
    for (const void** pointer : inputs_[i].pointers) *pointer = address;
  }
}

void BoundProgram::release_feeds() {
  for (BoundInput& input : inputs_) {
    if (input.held.data() == input.fed.data()) input.held = {};
    input.fed = {};
  }
}

uint64_t BoundProgram::announce() {
  const uint64_t ticket = inputs_ready.announce();
  communication_done.announce();
  for (int i = 0; i < plan().events; ++i) events_[static_cast<std::size_t>(i)].announce();
  return ticket;
}

HostTensor BoundProgram::output(const PlanOutput& output) const {
  const PlanBuffer& buffer = plan().buffers[static_cast<std::size_t>(output.buffer)];
  HostTensor result(buffer.dtype, buffer.shape);
  const void* source =
      buffer.memory == Memory::kInput ? inputs_[static_cast<std::size_t>(buffer.place)].held.data() : address(buffer);
  convert_layout(source, buffer.layout, result.edit(), Layout::kRowMajor, buffer.shape, dtype_size(buffer.dtype));
  return result;
}

}  // namespace onward
