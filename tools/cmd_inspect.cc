// onward inspect: what a model holds and, with --training, the program that is made from it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "graph/error.h"
#include "graph/print.h"
#include "ops/core/registry.h"
#include "passes/model_program.h"
#include "runtime/data/sampler.h"
#include "runtime/device.h"
#include "runtime/replicas.h"
#include "tools/command.h"
#include "tools/describe.h"
#include "tools/log.h"
#include "tools/option_groups.h"

namespace onward::cli {
namespace {

std::vector<OptionSpec> inspect_options() {
  return join({{{"Inspection", "training", "", "", "the generated training program instead of the file's own graph"},
                {"Inspection", "batch-size", "N", "1", "global batch size"},
                {"Inspection",
                 "passes",
                 "NAME",
                 "",
                 "the passes with their times; with NAME the graph after that pass (prune-2: its second run)",
                 {},
                 false,
                 "all"},
                {"Inspection", "plan", "", "", "steps, streams, events and memory of the first replica's plan"},
                {"Inspection", "format", "KIND", "text", "how to print", {"text", "json", "dot"}}},
               device_options(),
               optimizer_options(),
               precision_options()});
}

// What is inspected, computed once for every format.
struct Inspection {
  std::string path;
  int64_t ir_version = 0;
  std::vector<Device> devices;
  int64_t local_batch = 0;
  bool training = false;
  std::unique_ptr<ModelProgram> program;
  Graph graph;
  std::vector<std::string> synchronised;  // SyncBatchNormalization nodes, before they are lowered
};

std::vector<std::string> synchronised_nodes(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) {
    if (node->is("SyncBatchNormalization", kOnwardDomain)) names.push_back(node->text());
  }
  return names;
}

ProgramRequest request_of(const Inspection& inspection, int64_t batch) {
  return {.mode = inspection.training ? ProgramMode::kTrain : ProgramMode::kEvaluate,
          .local_batch = inspection.local_batch,
          .global_batch = batch};
}

Inspection inspect(const Options& options, const RunnerHooks& hooks) {
  Inspection result;
  result.path = options.positional().front();
  const Model model = Model::load(result.path);
  result.ir_version = model.ir_version();
  result.training = options.flag("training");
  result.devices = chosen_devices(options);
  const auto replicas = static_cast<int64_t>(result.devices.size());
  const int64_t batch = std::max(options.integer("batch-size", 1), options.given("batch-size") ? 1 : replicas);
  result.local_batch = split_batch(batch, replicas).front().count;
  ProgramOptions program_opts = training_options(options, static_cast<int>(replicas));
  if (!result.training) {
    program_opts.loss = LossKind::kNone;
    program_opts.keep_file_mode = true;
  }
  result.program = std::make_unique<ModelProgram>(model, program_opts, registry(), hooks);
  RunnerHooks watching = hooks;
  watching.after = [&](const std::string& pass, const Graph& graph) {
    if (pass == "batch-norm-mode") result.synchronised = synchronised_nodes(graph);
    if (hooks.after) hooks.after(pass, graph);
  };
  result.graph = result.program->program(request_of(result, batch), watching);
  return result;
}

std::string type_line(const Value& value) { return fmt::format("  {:<40} {}\n", value.name(), value.type.text()); }

std::string value_section(const char* title, const std::vector<Value*>& values) {
  int64_t count = 0;
  std::string lines;
  for (const Value* value : values) {
    const int64_t elements = value->type.is_static() ? element_count(value->type.shape()) : 0;
    count += elements;
    lines += fmt::format("  {:<40} {:<24} {:>12}\n", value->name(), value->type.text(), with_commas(elements));
  }
  return fmt::format("{} ({} tensors, {} values)\n{}", title, values.size(), with_commas(count), lines);
}

std::vector<Value*> named(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<Value*> values;
  for (const std::string& name : names) {
    if (Value* value = graph.find_value(name)) values.push_back(value);
  }
  return values;
}

std::string describe_model(const Inspection& inspection) {
  const Graph& prepared = inspection.program->prepared();
  std::string opsets;
  for (const auto& [domain, version] : prepared.opsets) {
    opsets += fmt::format(" {} {}", domain_text(domain), version);
  }
  std::string text = fmt::format("model '{}': IR {}, opset{}\n", inspection.path, inspection.ir_version, opsets);
  text += "data inputs\n";
  for (const Value* input : prepared.inputs()) text += type_line(*input);
  text += "outputs\n";
  for (const Value* output : prepared.outputs()) text += type_line(*output);
  text += value_section("parameters", named(prepared, inspection.program->parameters()));
  text += value_section("state", named(prepared, inspection.program->states()));
  return text;
}

std::string describe_ops(const Inspection& inspection) {
  std::string text = fmt::format("operations of one replica (batch {})\n", inspection.local_batch);
  double total = 0;
  for (const OpSummary& summary : summarise_ops(inspection.graph, registry())) {
    text += fmt::format("  {:<40} {:>6} {:>14.3f} MFLOP\n", summary.op, summary.count, summary.flops / 1e6);
    total += summary.flops;
  }
  return text + fmt::format("  {:<40} {:>6} {:>14.3f} MFLOP\n", "total", inspection.graph.nodes().size(), total / 1e6);
}

std::string describe_nodes(const Inspection& inspection) {
  std::string text = "nodes\n";
  for (const auto& node : inspection.graph.nodes()) {
    const Value* output = node->output(0);
    text += fmt::format("  {:<48} {:<32} {:>12.3f} MFLOP\n", node->text(), output ? output->type.text() : "",
                        node_flops(*node, registry()) / 1e6);
  }
  return text;
}

std::string describe_synchronised(const Inspection& inspection) {
  std::string text =
      fmt::format("synchronised batch normalizations, lowered below ({})\n", inspection.synchronised.size());
  for (const std::string& node : inspection.synchronised) text += "  " + node + "\n";
  return text;
}

std::string describe_facts(const Inspection& inspection) {
  std::string text = "decided\n";
  for (const std::string& fact : inspection.program->facts()) text += "  " + fact + "\n";
  return text;
}

std::string describe_collectives(const Inspection& inspection) {
  const auto list = summarise_collectives(inspection.graph, registry());
  std::string text = fmt::format("collectives, in order ({})\n", list.size());
  for (const CollectiveSummary& c : list) {
    text += fmt::format("  {:>4} {:<10} {:>4} operands {:>12} bytes  {}\n", c.id, c.op, c.operands,
                        with_commas(c.bytes), c.origin);
  }
  return text;
}

Plan plan_of(const Inspection& inspection) {
  PlannerOptions options;
  options.threads = inspection.devices.front().threads;
  options.replicas = static_cast<int>(inspection.devices.size());
  return make_plan(inspection.graph, registry(), options).plan;
}

// Bytes that a replica holds while it runs the program. Gradients lie in the arena, as activations do.
struct MemoryUse {
  std::size_t arena = 0, live = 0, workspace = 0, parameters = 0, state = 0, moments = 0, constants = 0;
  std::size_t total() const { return arena + workspace + parameters + state + moments + constants; }
};

MemoryUse memory_of(const Inspection& inspection, const Plan& plan) {
  MemoryUse use{.arena = plan.arena_bytes, .live = plan.live_bytes};
  for (int stream = 0; stream < kStreams; ++stream) use.workspace += plan.workspace_bytes(stream);
  const auto bytes = [](const Value& value) {
    return static_cast<std::size_t>(element_count(value.type.shape())) * dtype_size(value.type.dtype);
  };
  const std::vector<std::string> states = inspection.program->states();
  for (const Value* value : inspection.graph.values_with_role(Role::kParameter)) use.parameters += bytes(*value);
  for (const Value* value : inspection.graph.values_with_role(Role::kState)) {
    const bool of_model = std::find(states.begin(), states.end(), value->name()) != states.end();
    (of_model ? use.state : use.moments) += bytes(*value);
  }
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.memory == Memory::kConstant) use.constants += buffer.bytes;
  }
  return use;
}

std::string describe_memory(const Inspection& inspection, const Plan& plan) {
  const auto mib = [](std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  const MemoryUse use = memory_of(inspection, plan);
  return fmt::format(
             "plan: {} steps on {} streams, {} events, {} layout conversions, {} packings of weights\n"
             "peak memory of a replica: {:.2f} MiB\n"
             "  {:<40} {:>10.2f} MiB (live {:.2f} MiB)\n",
             plan.steps.size(), kStreams, plan.events, plan.conversions(), plan.reorders(), mib(use.total()),
             "arena: activations and gradients", mib(use.arena), mib(use.live)) +
         fmt::format("  {:<40} {:>10.2f} MiB\n", "workspace of kernels", mib(use.workspace)) +
         fmt::format("  {:<40} {:>10.2f} MiB\n", "parameters", mib(use.parameters)) +
         fmt::format("  {:<40} {:>10.2f} MiB\n", "state of the model", mib(use.state)) +
         fmt::format("  {:<40} {:>10.2f} MiB\n", "moments of the optimizer", mib(use.moments)) +
         fmt::format("  {:<40} {:>10.2f} MiB\n", "constants", mib(use.constants));
}

nlohmann::ordered_json memory_json(const Inspection& inspection, const Plan& plan) {
  const MemoryUse use = memory_of(inspection, plan);
  return {{"arena_bytes", use.arena},          {"live_bytes", use.live},    {"workspace_bytes", use.workspace},
          {"parameter_bytes", use.parameters}, {"state_bytes", use.state},  {"moment_bytes", use.moments},
          {"constant_bytes", use.constants},   {"total_bytes", use.total()}};
}

std::string as_text(const Options& options, const Inspection& inspection) {
  std::string text = describe_model(inspection) + describe_ops(inspection);
  if (!inspection.training) {
    text += describe_nodes(inspection);
  } else {
    text += describe_facts(inspection) + describe_synchronised(inspection) + "program\n" + print(inspection.graph) +
            describe_collectives(inspection);
  }
  if (inspection.training || options.flag("plan")) {
    const Plan plan = plan_of(inspection);
    text += describe_memory(inspection, plan);
    if (options.flag("plan")) text += print(plan);
  }
  return text;
}

nlohmann::ordered_json values_json(const std::vector<Value*>& values) {
  auto list = nlohmann::ordered_json::array();
  for (const Value* value : values) {
    list.push_back({{"name", value->name()},
                    {"type", value->type.text()},
                    {"count", value->type.is_static() ? element_count(value->type.shape()) : 0}});
  }
  return list;
}

std::string as_json(const Options& options, const Inspection& inspection) {
  const Graph& prepared = inspection.program->prepared();
  nlohmann::ordered_json json = {
      {"model", inspection.path}, {"ir_version", inspection.ir_version}, {"opsets", prepared.opsets}};
  json["inputs"] = values_json(prepared.inputs());
  json["outputs"] = values_json(prepared.outputs());
  json["parameters"] = values_json(named(prepared, inspection.program->parameters()));
  json["state"] = values_json(named(prepared, inspection.program->states()));
  json["operations"] = nlohmann::ordered_json::array();
  for (const OpSummary& s : summarise_ops(inspection.graph, registry())) {
    json["operations"].push_back({{"op", s.op}, {"count", s.count}, {"flops", s.flops}});
  }
  json["collectives"] = nlohmann::ordered_json::array();
  for (const CollectiveSummary& c : summarise_collectives(inspection.graph, registry())) {
    json["collectives"].push_back(
        {{"id", c.id}, {"op", c.op}, {"origin", c.origin}, {"operands", c.operands}, {"bytes", c.bytes}});
  }
  json["facts"] = inspection.program->facts();
  json["synchronised_batch_normalizations"] = inspection.synchronised;
  json["graph"] = graph_to_json(inspection.graph, registry());
  if (inspection.training || options.flag("plan")) {
    const Plan plan = plan_of(inspection);
    json["streams"] = kStreams;
    json["events"] = plan.events;
    json["memory"] = memory_json(inspection, plan);
    if (options.flag("plan")) json["plan"] = nlohmann::ordered_json::parse(to_json(plan));
  }
  return json.dump(1) + "\n";
}

// The passes that ran, each under a name of its own: one that ran several times is "prune-1", "prune-2", ...
class PassNames {
 public:
  void add(const std::string& pass) { passes_.push_back(pass); }

  std::vector<std::string> list() const {
    std::map<std::string, int> seen;
    std::vector<std::string> names;
    for (const std::string& pass : passes_) {
      const int number = ++seen[pass];
      names.push_back(runs(pass) > 1 ? fmt::format("{}-{}", pass, number) : pass);
    }
    return names;
  }
  int64_t runs(const std::string& pass) const { return std::count(passes_.begin(), passes_.end(), pass); }

  // The place of a name, or the last run of a pass named without a number. Error(kUsage) if there is none.
  std::size_t find(const std::string& wanted) const {
    const std::vector<std::string> names = list();
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    const auto last = std::find(passes_.rbegin(), passes_.rend(), wanted);
    if (last != passes_.rend()) return static_cast<std::size_t>(passes_.rend() - last) - 1;
    const std::string near = nearest(wanted, names);
    throw Error(ErrorKind::kUsage,
                fmt::format("expected --passes to name one of {}, found '{}'{}", fmt::join(names, ", "), wanted,
                            near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }

 private:
  std::vector<std::string> passes_;
};

void list_passes(const std::vector<std::string>& names, const std::vector<PassTiming>& timings, bool json) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!json) fmt::print("{:<28} {:>9.3f} ms\n", names[i], timings[i].milliseconds);
    list.push_back({{"pass", names[i]}, {"milliseconds", timings[i].milliseconds}});
  }
  if (json) fmt::print("{}\n", list.dump(1));
}

std::string graph_after(const std::string& pass, const Graph& graph, const std::string& format) {
  if (format == "dot") return graph_to_dot(graph);
  if (format == "text") return print(graph);
  return nlohmann::ordered_json{{"pass", pass}, {"graph", graph_to_json(graph, registry())}}.dump(1) + "\n";
}

// The name without the number of a run: "prune-2" is the pass "prune".
std::string without_number(const std::string& name) {
  const std::size_t dash = name.find_last_not_of("0123456789");
  return dash != std::string::npos && dash + 1 < name.size() && name[dash] == '-' ? name.substr(0, dash) : name;
}

bool training_has(const std::string& pass, const ProgramOptions& options) {
  const std::vector<Pass> passes = pass_pipeline(options, {.mode = ProgramMode::kTrain});
  return std::any_of(passes.begin(), passes.end(), [&](const Pass& each) { return each.name == without_number(pass); });
}

// The place of the pass; an error names the option with which the pass would run.
std::size_t find_pass(const PassNames& passes, const std::string& wanted, const Options& options) {
  try {
    return passes.find(wanted);
  } catch (Error& error) {
    if (!options.flag("training") && training_has(wanted, training_options(options, 1)))
      error.note(fmt::format("--training has the pass '{}'", wanted));
    throw;
  }
}

// The list of passes with their times, or the graph after one of them.
int show_passes(const Options& options) {
  const std::string wanted = options.text("passes"), format = options.text("format");
  if (wanted == "all" && format == "dot")
    throw Error(ErrorKind::kUsage, "expected --passes NAME with --format dot, found no name; --passes lists them");
  std::vector<PassTiming> timings;
  std::vector<Graph> graphs;
  PassNames passes;
  RunnerHooks hooks;
  hooks.timings = &timings;
  hooks.after = [&](const std::string& name, const Graph& graph) {
    passes.add(name);
    if (wanted != "all") graphs.push_back(graph.clone());
  };
  inspect(options, hooks);
  const std::vector<std::string> names = passes.list();
  if (wanted == "all") {
    list_passes(names, timings, format == "json");
    return 0;
  }
  const std::size_t place = find_pass(passes, wanted, options);
  if (names[place] != wanted)
    say(fmt::format("'{}' runs {} times; this is the last, {}", wanted, passes.runs(wanted), names[place]));
  fmt::print("{}", graph_after(names[place], graphs[place], format));
  return 0;
}

int run(const Options& options) {
  if (options.given("passes")) return show_passes(options);
  const Inspection inspection = inspect(options, {});
  for (const std::string& warning : inspection.program->warnings()) warn(warning);
  const std::string format = options.text("format");
  fmt::print("{}", format == "json"  ? as_json(options, inspection)
                   : format == "dot" ? graph_to_dot(inspection.graph)
                                     : as_text(options, inspection));
  return 0;
}

}  // namespace

Command inspect_command() {
  return {{.name = "inspect",
           .summary = "list what a model holds, or the training program made from it",
           .positional = "M.onnx",
           .min_positional = 1,
           .max_positional = 1,
           .options = inspect_options()},
          run};
}

}  // namespace onward::cli
