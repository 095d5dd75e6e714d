#include "runtime/plan_draft.h"

#include <fmt/format.h>

#include <map>

#include "graph/error.h"
#include "ops/core/layout.h"

namespace onward {

int PlanDraft::add_buffer(PlanBuffer buffer) {
  buffer.bytes = static_cast<std::size_t>(element_count(buffer.shape)) * dtype_size(buffer.dtype);
  plan.buffers.push_back(std::move(buffer));
  return static_cast<int>(plan.buffers.size()) - 1;
}

int PlanDraft::add_arena_buffer(const std::string& value, DType dtype, const Shape& shape, Layout layout) {
  return add_buffer({.value = value,
                     .dtype = dtype,
                     .shape = shape,
                     .layout = layout,
                     .memory = Memory::kArena,
                     .storage = storages++,
                     .content = contents++});
}

namespace {

class Drafter {
 public:
  Drafter(const Graph& graph, const LayoutChoice& layouts) : graph_(graph), layouts_(layouts) {}

  PlanDraft run(std::vector<ChosenKernel> kernels) {
    draft_.plan.name = graph_.name;
    for (const Value* input : graph_.inputs()) add_input(*input);
    for (ChosenKernel& entry : kernels) {
      if (entry.kernel) {
        add_kernel(entry);
      } else {
        add_view(entry);
      }
    }
    add_updates();
    add_outputs();
    return std::move(draft_);
  }

 private:
  Layout home(const Value& value) const {
    const auto found = layouts_.home.find(&value);
    return found == layouts_.home.end() ? Layout::kRowMajor : found->second;
  }

  void add_input(const Value& value) {
    if (value.role == Role::kParameter || value.role == Role::kState || value.role == Role::kConstant) return;
    const int buffer = draft_.add_buffer({.value = value.name(),
                                          .dtype = value.type.dtype,
                                          .shape = value.type.shape(),
                                          .layout = home(value),
                                          .memory = Memory::kInput,
                                          .place = static_cast<int>(draft_.plan.inputs.size()),
                                          .content = draft_.contents++});
    draft_.plan.inputs.push_back({value.name(), value.role, buffer});
    made_[{&value, home(value)}] = buffer;
  }

  int add_stored(const Value& value) {
    draft_.plan.stored.push_back(value.name());
    return draft_.add_buffer({.value = value.name(),
                              .dtype = value.type.dtype,
                              .shape = value.type.shape(),
                              .memory = Memory::kStore,
                              .place = static_cast<int>(draft_.plan.stored.size()) - 1,
                              .content = draft_.contents++});
  }

  int add_constant(const Value& value, Layout layout) {
    if (value.data.empty()) {
      throw Error(ErrorKind::kModel, fmt::format("the constant '{}' has no value", value.name()));
    }
    HostTensor data = value.data;
    if (!layouts_agree(data.shape(), Layout::kRowMajor, layout)) {
      HostTensor converted(data.dtype(), data.shape());
      convert_layout(data.data(), Layout::kRowMajor, converted.edit(), layout, data.shape(), dtype_size(data.dtype()));
      data = std::move(converted);
    }
    draft_.constants.push_back(std::move(data));
    draft_.plan.constants.push_back(value.name());
    return draft_.add_buffer({.value = value.name(),
                              .dtype = value.type.dtype,
                              .shape = value.type.shape(),
                              .layout = layout,
                              .memory = Memory::kConstant,
                              .place = static_cast<int>(draft_.constants.size()) - 1,
                              .content = draft_.contents++});
  }

  // Another name for a buffer's bytes.
  int add_alias(int source, const std::string& value, const Shape& shape, Layout layout) {
    PlanBuffer alias = draft_.buffer(source);
    alias.value = value;
    alias.shape = shape;
    alias.layout = layout;
    return draft_.add_buffer(std::move(alias));
  }

  int add_conversion(const Value& value, int source, Layout layout) {
    const PlanBuffer from = draft_.buffer(source);
    const int target = draft_.add_arena_buffer(value.name(), from.dtype, from.shape, layout);
    DraftStep draft;
    draft.step = {.kind = StepKind::kConvert,
                  .node = fmt::format("{} layout of {}", layout_name(layout), value.name()),
                  .origin = value.producer() ? value.producer()->text() : "",
                  .inputs = {source},
                  .outputs = {target}};
    draft_.steps.push_back(std::move(draft));
    return target;
  }

  // The buffer that holds the value in this layout; made when first asked for.
  int find_buffer(const Value& value, Layout layout) {
    const auto found = made_.find({&value, layout});
    if (found != made_.end()) return found->second;
    return made_[{&value, layout}] = make_buffer(value, layout);
  }

  int make_buffer(const Value& value, Layout layout) {
    if (value.role == Role::kConstant) return add_constant(value, layout);
    const Layout other = layout == Layout::kRowMajor ? Layout::kChannelsLast : Layout::kRowMajor;
    auto there = made_.find({&value, other});
    if (there == made_.end()) {
      if (value.role != Role::kParameter && value.role != Role::kState) {
        throw Error(ErrorKind::kModel,
                    fmt::format("'{}' is used but neither an input nor made by a node", value.name()));
      }
      if (layout == Layout::kRowMajor) return add_stored(value);
      there = made_.emplace(std::pair{&value, Layout::kRowMajor}, add_stored(value)).first;
    }
    const Shape shape = value.type.shape();
    if (layouts_agree(shape, layout, other)) return add_alias(there->second, value.name(), shape, layout);
    return add_conversion(value, there->second, layout);
  }

  void add_view(const ChosenKernel& entry) {
    for (const ViewPair& pair : entry.op->views) {
      const Value* input = entry.node->input(static_cast<std::size_t>(pair.input));
      const Value* output = entry.node->output(static_cast<std::size_t>(pair.output));
      if (!input || !output || made_.contains({output, home(*output)})) continue;
      const Shape shape = output->type.shape();
      const bool same = shape == input->type.shape();
      const int source = find_buffer(*input, same ? home(*output) : Layout::kRowMajor);
      made_[{output, home(*output)}] = add_alias(source, output->name(), shape, home(*output));
    }
  }

  void add_kernel(ChosenKernel& entry) {
    DraftStep draft;
    PlanStep& step = draft.step;
    step.op = entry.node->op();
    step.node = entry.node->text();
    step.origin = entry.node->origin;
    for (std::size_t i = 0; i < entry.spec.inputs.size(); ++i) {
      const Value* value = entry.node->input(i);
      step.inputs.push_back(value ? find_buffer(*value, entry.spec.inputs[i].layout) : -1);
    }
    for (std::size_t i = 0; i < entry.spec.outputs.size(); ++i) {
      step.outputs.push_back(add_output(entry.node->output(i), entry.spec.outputs[i]));
    }
    if (entry.op->communicates) {
      step.stream = kCommunicationStream;
      step.collective = static_cast<int>(entry.node->attributes.get_int("collective"));
    }
    if (entry.op->flops) step.flops = entry.op->flops(*entry.node);
    draft.in_place = in_place_pairs(*entry.op, *entry.node);
    make_kernel(entry, draft);
    draft_.steps.push_back(std::move(draft));
  }

  void make_kernel(const ChosenKernel& entry, DraftStep& draft) {
    try {
      draft.kernel = entry.kernel->make(entry.spec);
    } catch (Error& error) {
      error.note("while its kernel was prepared: " + entry.spec.node);
      throw;
    }
    draft.step.kernel = draft.kernel->describe();
    draft.step.reorders = draft.kernel->reorders();
    draft.step.workspace_bytes = draft.kernel->workspace_bytes();
  }

  int add_output(const Value* value, const Operand& operand) {
    if (!value) return -1;
    return made_[{value, operand.layout}] =
               draft_.add_arena_buffer(value->name(), operand.dtype, operand.shape, operand.layout);
  }

  bool is_updated(int stored) const {
    for (const StateUpdate& update : graph_.updates()) {
      if (update.state->name() == draft_.plan.stored[static_cast<std::size_t>(stored)]) return true;
    }
    return false;
  }

  // What is read after the steps must not be the old value of a state that the steps overwrite: a copy is made.
  int keep_to_end(int source, const std::string& name) {
    const PlanBuffer from = draft_.buffer(source);
    if (from.memory != Memory::kStore || !is_updated(from.place)) return source;
    const int target = draft_.add_arena_buffer(name, from.dtype, from.shape, from.layout);
    DraftStep draft;
    draft.step = {.kind = StepKind::kCopy,
                  .node = fmt::format("old value of {}", from.value),
                  .inputs = {source},
                  .outputs = {target}};
    draft_.steps.push_back(std::move(draft));
    return target;
  }

  void add_updates() {
    for (const StateUpdate& update : graph_.updates()) {
      const int state = find_buffer(*update.state, Layout::kRowMajor);
      const int source = find_buffer(*update.updated, Layout::kRowMajor);
      if (draft_.buffer(state).content == draft_.buffer(source).content) continue;
      draft_.updates.push_back({draft_.buffer(state).place, keep_to_end(source, update.updated->name())});
    }
  }

  void add_outputs() {
    for (const Value* output : graph_.outputs()) {
      const bool row_major = made_.contains({output, Layout::kRowMajor}) || !made_.contains({output, home(*output)});
      const int buffer = find_buffer(*output, row_major ? Layout::kRowMajor : home(*output));
      draft_.plan.outputs.push_back({output->name(), keep_to_end(buffer, output->name())});
    }
  }

  const Graph& graph_;
  const LayoutChoice& layouts_;
  PlanDraft draft_;
  std::map<std::pair<const Value*, Layout>, int> made_;
};

}  // namespace

PlanDraft draft_steps(const Graph& graph, std::vector<ChosenKernel> kernels, const LayoutChoice& layouts) {
  return Drafter(graph, layouts).run(std::move(kernels));
}

}  // namespace onward
