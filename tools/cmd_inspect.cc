// onward inspect: what a model holds and, with --training, the program that is made from it.
#include <fmt/format.h>

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
                 "the passes with their times; with NAME the graph after that pass",
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
  result.devices = parse_devices(options.text("devices"), static_cast<int>(options.integer("threads", 0, 4096)));
  const auto replicas = static_cast<int64_t>(result.devices.size());
  const int64_t batch = std::max(options.integer("batch-size", 1), options.given("batch-size") ? 1 : replicas);
  result.local_batch = split_batch(batch, replicas).front().count;
  ProgramOptions program_opts = program_options(options, static_cast<int>(replicas));
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
    opsets += fmt::format(" {} {}", domain.empty() ? "ai.onnx" : domain, version);
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

std::string describe_memory(const Plan& plan) {
  const auto mib = [](std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  return fmt::format(
      "plan: {} steps on {} streams, {} events, {} layout conversions, {} packings of weights\n"
      "peak memory of a replica: arena {:.2f} MiB (live {:.2f} MiB), workspace {:.2f} MiB\n",
      plan.steps.size(), kStreams, plan.events, plan.conversions(), plan.reorders(), mib(plan.arena_bytes),
      mib(plan.live_bytes), mib(plan.workspace_bytes(kComputeStream) + plan.workspace_bytes(kCommunicationStream)));
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
    text += describe_memory(plan);
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
  if (options.flag("plan")) json["plan"] = nlohmann::ordered_json::parse(to_json(plan_of(inspection)));
  return json.dump(1) + "\n";
}

// The list of passes with their times, or the graph after one of them.
int show_passes(const Options& options) {
  const std::string wanted = options.text("passes");
  std::vector<PassTiming> timings;
  std::vector<std::string> names;
  std::string dump;
  RunnerHooks hooks;
  hooks.timings = &timings;
  hooks.after = [&](const std::string& name, const Graph& graph) {
    names.push_back(name);
    if (name == wanted) dump = print(graph);
  };
  inspect(options, hooks);
  if (wanted == "all") {
    for (const PassTiming& timing : timings) fmt::print("{:<28} {:>9.3f} ms\n", timing.name, timing.milliseconds);
    return 0;
  }
  if (dump.empty()) {
    const std::string near = nearest(wanted, names);
    throw Error(ErrorKind::kUsage,
                fmt::format("expected --passes to name one of {}, found '{}'{}", fmt::join(names, ", "), wanted,
                            near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  fmt::print("{}", dump);
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
