#include "runtime/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ops/core/layout.h"

namespace onward {

std::string memory_name(Memory memory) {
  constexpr const char* kNames[] = {"arena", "store", "input", "constant"};
  return kNames[static_cast<std::size_t>(memory)];
}

std::string stream_name(int stream) { return stream == kComputeStream ? "compute" : "communication"; }

int Plan::conversions() const {
  return static_cast<int>(
      std::count_if(steps.begin(), steps.end(), [](const PlanStep& s) { return s.kind == StepKind::kConvert; }));
}

int Plan::reorders() const {
  int count = 0;
  for (const PlanStep& step : steps) count += step.reorders;
  return count;
}

int Plan::collectives() const {
  return static_cast<int>(
      std::count_if(steps.begin(), steps.end(), [](const PlanStep& s) { return s.collective >= 0; }));
}

double Plan::flops() const {
  double total = 0;
  for (const PlanStep& step : steps) total += step.flops;
  return total;
}

std::size_t Plan::workspace_bytes(int stream) const {
  std::size_t most = 0;
  for (const PlanStep& step : steps) {
    if (step.stream == stream) most = std::max(most, step.workspace_bytes);
  }
  return most;
}

std::size_t Plan::step_bytes(const PlanStep& step) const {
  std::size_t total = 0;
  for (const auto* list : {&step.inputs, &step.outputs}) {
    for (int buffer : *list) total += buffer < 0 ? 0 : buffers[static_cast<std::size_t>(buffer)].bytes;
  }
  return total;
}

namespace {

std::string place_text(const Plan& plan, const PlanBuffer& buffer) {
  switch (buffer.memory) {
    case Memory::kArena: return fmt::format("@{}", buffer.offset);
    case Memory::kStore: return fmt::format("@store[{}]", plan.stored[static_cast<std::size_t>(buffer.place)]);
    case Memory::kInput: return "@input";
    case Memory::kConstant: return "@constant";
  }
  return "?";
}

std::string buffer_text(const Plan& plan, int index) {
  if (index < 0) return "-";
  const PlanBuffer& buffer = plan.buffers[static_cast<std::size_t>(index)];
  return fmt::format("%{}{}{}", buffer.value, buffer.layout == Layout::kChannelsLast ? ":cl" : "",
                     place_text(plan, buffer));
}

std::string list_text(const Plan& plan, const std::vector<int>& buffers) {
  std::vector<std::string> parts;
  for (int buffer : buffers) parts.push_back(buffer_text(plan, buffer));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string kind_text(const PlanStep& step) {
  switch (step.kind) {
    case StepKind::kConvert: return "convert";
    case StepKind::kCopy: return "copy";
    case StepKind::kKernel: break;
  }
  return to_string(step.op);
}

std::string step_text(const Plan& plan, const PlanStep& step, std::size_t index) {
  std::string line = fmt::format("{:4} {:7} {} = {}({})", index, step.stream == kComputeStream ? "compute" : "comm",
                                 list_text(plan, step.outputs), kind_text(step), list_text(plan, step.inputs));
  if (!step.kernel.empty()) line += fmt::format(" [{}]", step.kernel);
  if (step.collective >= 0) line += fmt::format(" collective={}", step.collective);
  if (!step.waits.empty()) line += fmt::format(" wait={}", fmt::join(step.waits, ","));
  if (step.record >= 0) line += fmt::format(" record={}", step.record);
  return line + fmt::format("  # {}\n", step.node);
}

nlohmann::ordered_json buffer_json(const Plan& plan, const PlanBuffer& buffer) {
  nlohmann::ordered_json json{{"value", buffer.value},
                              {"dtype", dtype_name(buffer.dtype)},
                              {"shape", buffer.shape},
                              {"layout", layout_name(buffer.layout)},
                              {"memory", memory_name(buffer.memory)},
                              {"bytes", buffer.bytes},
                              {"content", buffer.content}};
  if (buffer.memory == Memory::kArena) {
    json["offset"] = buffer.offset;
    json["storage"] = buffer.storage;
  }
  if (buffer.memory == Memory::kStore) json["stored"] = plan.stored[static_cast<std::size_t>(buffer.place)];
  return json;
}

nlohmann::ordered_json step_json(const PlanStep& step) {
  nlohmann::ordered_json json{{"kind", kind_text(step)},
                              {"node", step.node},
                              {"origin", step.origin},
                              {"kernel", step.kernel},
                              {"stream", stream_name(step.stream)},
                              {"inputs", step.inputs},
                              {"outputs", step.outputs},
                              {"waits", step.waits}};
  if (step.record >= 0) json["record"] = step.record;
  if (step.collective >= 0) json["collective"] = step.collective;
  json["reorders"] = step.reorders;
  json["workspace_bytes"] = step.workspace_bytes;
  json["flops"] = step.flops;
  return json;
}

}  // namespace

std::string print(const Plan& plan) {
  std::string text = fmt::format(
      "plan {} for rank {} of {} on {}, {} thread{}\n"
      "{} steps, {} collectives, {} events, {} layout conversions, {} reorders inside kernels\n"
      "arena {} bytes ({} live at most), workspace {} + {} bytes\n",
      plan.name, plan.rank, plan.replicas, backend_name(plan.backend), plan.threads, plan.threads == 1 ? "" : "s",
      plan.steps.size(), plan.collectives(), plan.events, plan.conversions(), plan.reorders(), plan.arena_bytes,
      plan.live_bytes, plan.workspace_bytes(kComputeStream), plan.workspace_bytes(kCommunicationStream));
  for (const PlanInput& input : plan.inputs) {
    const PlanBuffer& buffer = plan.buffers[static_cast<std::size_t>(input.buffer)];
    text += fmt::format("input %{}: {} {} {}\n", input.name, role_name(input.role),
                        TensorType(buffer.dtype, buffer.shape).text(), layout_name(buffer.layout));
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) text += step_text(plan, plan.steps[i], i);
  for (const PlanOutput& output : plan.outputs) {
    text += fmt::format("output %{}: {}\n", output.name, buffer_text(plan, output.buffer));
  }
  for (const PlanUpdate& update : plan.updates) {
    text += fmt::format("update {}{}\n", plan.stored[static_cast<std::size_t>(update.stored)],
                        update.in_place ? " in place" : "");
  }
  return text;
}

std::string to_json(const Plan& plan) {
  nlohmann::ordered_json json{
      {"name", plan.name},
      {"rank", plan.rank},
      {"replicas", plan.replicas},
      {"backend", backend_name(plan.backend)},
      {"threads", plan.threads},
      {"arena_bytes", plan.arena_bytes},
      {"live_bytes", plan.live_bytes},
      {"workspace_bytes", {plan.workspace_bytes(kComputeStream), plan.workspace_bytes(kCommunicationStream)}},
      {"events", plan.events},
      {"collectives", plan.collectives()},
      {"conversions", plan.conversions()},
      {"reorders", plan.reorders()},
      {"flops", plan.flops()}};
  for (const char* list : {"inputs", "outputs", "updates", "buffers", "steps"})
    json[list] = nlohmann::ordered_json::array();
  for (const PlanInput& input : plan.inputs) {
    json["inputs"].push_back({{"name", input.name}, {"role", role_name(input.role)}, {"buffer", input.buffer}});
  }
  for (const PlanOutput& output : plan.outputs)
    json["outputs"].push_back({{"name", output.name}, {"buffer", output.buffer}});
  for (const PlanUpdate& update : plan.updates) {
    json["updates"].push_back({{"state", plan.stored[static_cast<std::size_t>(update.stored)]},
                               {"content", update.content},
                               {"in_place", update.in_place}});
  }
  for (const PlanBuffer& buffer : plan.buffers) json["buffers"].push_back(buffer_json(plan, buffer));
  for (const PlanStep& step : plan.steps) json["steps"].push_back(step_json(step));
  return json.dump(2);
}

}  // namespace onward
