// onward run: one batch through a model, with everything written out: the instrument to check this program against
// others.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <sstream>

#include "graph/error.h"
#include "graph/scalars.h"
#include "graph/tensor_file.h"
#include "ops/core/registry.h"
#include "passes/model_program.h"
#include "runtime/batch_feeds.h"
#include "runtime/checkpoint.h"
#include "runtime/replicas.h"
#include "tools/command.h"
#include "tools/log.h"
#include "tools/option_groups.h"
#include "tools/run_inputs.h"
#include "tools/run_outputs.h"

namespace onward::cli {
namespace {

std::vector<OptionSpec> run_options() {
  std::vector<OptionSpec> optimizer = optimizer_options();
  for (OptionSpec& option : optimizer) {
    if (option.name == "loss")
      option = {"Run", "loss", "KIND", "", "attach this loss to the model, as train does", {"auto", "cross_entropy"}};
    if (option.name == "optimizer") option.fallback = "";
  }
  return join({{{"Run",
                 "input",
                 "NAME=FILE",
                 "",
                 ".npy or .pb of an input; NAME= may be left out for a single input",
                 {},
                 true},
                {"Run", "output", "DIR", "", "folder for the results (-o)"},
                {"Run", "training", "", "", "batch statistics and dropout; updated states are written"},
                {"Run", "grad", "OUTPUT", "", "gradient of this scalar output by every input and parameter"},
                {"Run", "label", "FILE", "", "class labels for --loss, or the input that is left"},
                {"Run", "steps", "N", "1", "updates on the same batch, with --optimizer"},
                {"Run", "lr", "X", "0.001", "learning rate, with --optimizer"},
                {"Run", "split", "LIST", "", "rows of each replica, as 3,1 (zeros allowed); even by default"}},
               device_options(),
               std::move(optimizer),
               precision_options()});
}

struct Inputs {
  std::map<std::string, HostTensor> tensors;
  HostTensor label;       // empty without --label
  TensorType label_type;  // as the file of --label has it
  int64_t rows = 1;       // of the batch
};

// "NAME=FILE"; without a name the model's only data input is meant.
std::pair<std::string, std::string> split_input(const std::string& text, const Graph& graph) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && graph.find_value(text.substr(0, equals))) {
    return {text.substr(0, equals), text.substr(equals + 1)};
  }
  if (equals == std::string::npos && graph.inputs().size() == 1) return {graph.inputs().front()->name(), text};
  std::vector<std::string> names;
  for (const Value* input : graph.inputs()) names.push_back(input->name());
  throw Error(ErrorKind::kUsage,
              fmt::format("expected --input NAME=FILE with NAME one of {}, found '{}'", fmt::join(names, ", "), text));
}

void read_label(const Options& options, Inputs& inputs) {
  const std::string file = options.text("label");
  const HostTensor tensor = read_tensor_file(file);
  inputs.label_type = tensor.type();
  inputs.label = whole_numbers(tensor, fmt::format("the labels in '{}'", file));
}

// The inputs as the command line lists them, by name. Error(kUsage) for a name that comes twice.
std::map<std::string, std::string> input_files(const Options& options, const Graph& graph) {
  std::map<std::string, std::string> files;
  for (const std::string& text : options.texts("input")) {
    const auto [name, file] = split_input(text, graph);
    const auto [known, fresh] = files.emplace(name, file);
    if (fresh) continue;
    throw Error(ErrorKind::kUsage, fmt::format("expected one --input for each input, found '{}' and '{}' for '{}'",
                                               known->second, file, name));
  }
  return files;
}

Inputs read_inputs(const Options& options, const Graph& graph, int64_t replicas) {
  Inputs inputs;
  for (const auto& [name, file] : input_files(options, graph)) {
    HostTensor tensor = read_tensor_file(file);
    if (is_integer(graph.find_value(name)->type.dtype))
      tensor = whole_numbers(tensor, fmt::format("the input '{}' in '{}'", name, file));
    inputs.tensors[name] = std::move(tensor);
  }
  if (options.given("label")) read_label(options, inputs);
  std::string label_input;
  for (const Value* input : graph.inputs()) {
    if (inputs.tensors.contains(input->name())) continue;
    // The one input that is left is the label of the file's own loss.
    if (inputs.label.empty() || inputs.tensors.size() + 1 != graph.inputs().size()) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("expected --input {}=FILE ({}), found none", input->name(), input->type.text()));
    }
    label_input = input->name();
    inputs.tensors[label_input] = inputs.label;
  }
  if (!inputs.label.empty() && label_input.empty() && !options.given("loss"))
    throw Error(ErrorKind::kUsage, "expected --loss with --label, or an input without --input, found neither");
  inputs.rows = count_rows(graph, inputs.tensors, replicas, inputs.label.empty() ? "" : label_input);
  if (!inputs.label.empty()) check_label_rows(inputs.label_type, inputs.rows, options.text("label"));
  return inputs;
}

std::vector<int64_t> read_shares(const Options& options, int64_t rows, int64_t replicas) {
  std::vector<int64_t> shares;
  if (options.text("split").empty()) {
    for (const BatchShare& share : split_batch(rows, replicas)) shares.push_back(share.count);
    return shares;
  }
  std::istringstream stream(options.text("split"));
  for (std::string part; std::getline(stream, part, ',');) {
    int64_t count = -1;
    const auto result = std::from_chars(part.data(), part.data() + part.size(), count);
    if (result.ec != std::errc() || result.ptr != part.data() + part.size() || count < 0) {
      throw Error(ErrorKind::kUsage, fmt::format("expected --split to list numbers of rows, found '{}'", part));
    }
    shares.push_back(count);
  }
  const int64_t sum = std::accumulate(shares.begin(), shares.end(), int64_t{0});
  if (static_cast<int64_t>(shares.size()) != replicas || sum != rows) {
    throw Error(ErrorKind::kUsage, fmt::format("expected --split to give {} rows to {} replicas, found {} for {}", rows,
                                               replicas, sum, shares.size()));
  }
  return shares;
}

// What the flags ask for; see docs/command-line.md.
struct Task {
  bool training = false, loss = false, update = false;
  std::string gradient_of;
  int64_t steps = 1;
  bool gradients() const { return loss || !gradient_of.empty(); }
};

Task read_task(const Options& options) {
  Task task;
  task.loss = options.given("loss");
  task.update = options.given("optimizer");
  task.gradient_of = options.text("grad");
  task.training = options.flag("training") || task.loss || task.update;
  task.steps = options.integer("steps", 1);
  if (task.update && !task.gradients()) {
    throw Error(ErrorKind::kUsage, "expected --loss or --grad with --optimizer, found neither");
  }
  if (task.loss && !task.gradient_of.empty()) throw Error(ErrorKind::kUsage, "expected --loss or --grad, found both");
  if (task.steps > 1 && !task.update) throw Error(ErrorKind::kUsage, "expected --optimizer with --steps, found none");
  return task;
}

// Several replicas compute a scalar output, which is mostly a mean over the samples, together, as they compute a loss;
// "" if there is none, or more than one.
std::string shared_scalar(const Graph& graph, const Task& task, int64_t replicas) {
  if (replicas == 1 || task.gradients()) return "";
  std::vector<std::string> scalars;
  for (const Value* output : graph.outputs()) {
    const TensorType& type = output->type;
    if (is_floating(type.dtype) && type.is_static() && element_count(type.shape()) == 1)
      scalars.push_back(output->name());
  }
  return scalars.size() == 1 ? scalars.front() : "";
}

ProgramOptions make_program_options(const Options& options, const Task& task, const Inputs& inputs, int replicas,
                                    const std::string& scalar_output) {
  ProgramOptions program = program_options(options, replicas);
  if (!task.loss) program.loss = LossKind::kNone;
  if (!task.update) program.optimizer = OptimizerKind::kNone;
  program.gradient_of = task.gradients() ? task.gradient_of : scalar_output;
  program.differentiate = task.gradients();
  program.keep_file_mode = !task.training;
  program.keep_outputs = true;
  program.keep_gradients = program.input_gradients = task.gradients();
  for (const auto& [name, tensor] : inputs.tensors) {
    Shape shape = tensor.shape();
    if (!shape.empty() && shape.front() == inputs.rows) shape.front() = -1;
    program.input_shapes[name] = shape;
  }
  return program;
}

// The labels of the program have as many dimensions as its label input.
void check_label_shape(const Graph& graph, const LossInfo& loss, const Inputs& inputs, const std::string& file) {
  const Value* input = graph.find_value(loss.label);
  if (!input) return;
  Shape expected = input->type.shape();
  if (!expected.empty()) expected.front() = inputs.rows;
  if (inputs.label.shape() == expected) return;
  throw Error(ErrorKind::kData,
              fmt::format("expected labels of type {} in '{}', found {}", TensorType(DType::kInt64, expected).text(),
                          file, inputs.label_type.text()));
}

// The rows of each replica of every input, and the scalars.
std::vector<StepFeeds> make_feeds(const Graph& graph, const Inputs& inputs, const std::vector<int64_t>& shares,
                                  const LossInfo& loss) {
  Batch labels;
  if (!inputs.label.empty()) {
    labels.labels = inputs.label.to_int64();
    labels.samples.resize(labels.labels.size());
    std::iota(labels.samples.begin(), labels.samples.end(), 0);
    check_batch_labels(labels, loss);
  }
  std::vector<StepFeeds> feeds;
  int64_t first = 0;
  for (const int64_t count : shares) {
    StepFeeds feed;
    feed.local_batch = count;
    for (const Value* input : graph.inputs()) {
      if (input->role != Role::kInput && input->role != Role::kLabel) continue;
      const bool is_label = input->name() == loss.label && !inputs.tensors.contains(input->name());
      const HostTensor& whole = is_label ? inputs.label : inputs.tensors.at(input->name());
      const bool rows = !whole.shape().empty() && whole.shape().front() == inputs.rows;
      const HostTensor own = rows ? slice_rows(whole, first, count) : whole;
      feed.tensors[input->name()] = {own.cast(input->type.dtype), Layout::kRowMajor};
    }
    feed.scalars = {
        {kSampleOffset, static_cast<double>(first)},
        {kGlobalBatch, static_cast<double>(inputs.rows)},
        {kLossDenominator, inputs.label.empty() ? static_cast<double>(inputs.rows) : loss_denominator(loss, {labels})},
        {kRandomStep, 0}};
    first += count;
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

// One tensor from those of all replicas: rows joined, sums added, copies taken once.
HostTensor merge(const Value& output, const std::vector<StepOutputs>& replicas) {
  std::vector<HostTensor> parts;
  for (const StepOutputs& outputs : replicas) parts.push_back(outputs.at(output.name()));
  if (parts.size() == 1) return parts.front();
  if (output.distribution == Distribution::kBatchSplit) return join_rows(parts);
  if (output.distribution != Distribution::kPartial) return parts.front();
  std::vector<double> sum = parts.front().to_double();
  for (std::size_t r = 1; r < parts.size(); ++r) {
    const std::vector<double> more = parts[r].to_double();
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }
  return HostTensor::from<double>(parts.front().shape(), sum).cast(parts.front().dtype());
}

void collect_outputs(const Graph& graph, const std::vector<StepOutputs>& replicas, OutputFolder& folder) {
  static const std::string prefix = kGradientPrefix;
  for (const Value* output : graph.outputs()) {
    const std::string& name = output->name();
    const bool gradient = name.starts_with(prefix);
    if (!gradient && name.starts_with(kReservedPrefix)) continue;  // the loss is written by its own name
    folder.add(gradient ? name.substr(prefix.size()) : name, gradient ? "gradient" : "output", gradient ? ".grad" : "",
               merge(*output, replicas));
  }
}

void collect_updates(const Graph& graph, ReplicaGroup& replicas, const std::vector<int64_t>& shares, LocalState rule,
                     OutputFolder& folder) {
  for (const StateUpdate& update : graph.updates()) {
    const std::string& name = update.state->name();
    HostTensor tensor = replicas.store(0).read(name);
    if (update.state->distribution == Distribution::kLocal) {
      std::vector<TensorMap> own;
      for (int r = 0; r < replicas.size(); ++r) own.push_back({{name, replicas.store(r).read(name)}});
      tensor = shared_state(rule, own, shares).at(name);
    }
    folder.add(name, "updated", ".updated", tensor);
  }
}

// What one replica cannot tell of the whole batch has a way around it.
Graph make_program(ModelProgram& program, const ProgramKey& key, const Task& task, int64_t replicas) {
  try {
    return program.program(key);
  } catch (Error& error) {
    if (replicas > 1 && !task.gradients())
      error.note(
          "for onward run on several replicas: use --devices cpu for one replica, or --grad OUTPUT for one mean");
    throw;
  }
}

int run(const Options& options) {
  const Task task = read_task(options);
  if (options.text("output").empty())
    throw Error(ErrorKind::kUsage, "expected -o DIR, the folder for the results, found none");
  const std::vector<Device> devices = chosen_devices(options);
  const Model model = Model::load(options.positional().front());
  const Graph file = model.graph();
  const auto count = static_cast<int64_t>(devices.size());
  Inputs inputs = read_inputs(options, file, count);
  const std::vector<int64_t> shares = read_shares(options, inputs.rows, count);
  const std::string scalar = shared_scalar(file, task, count);
  const ProgramMode mode =
      task.training || task.gradients() || !scalar.empty() ? ProgramMode::kTrain : ProgramMode::kEvaluate;
  ModelProgram program(model, make_program_options(options, task, inputs, static_cast<int>(count), scalar));
  const Graph graph = make_program(program, {mode, *std::max_element(shares.begin(), shares.end())}, task, count);
  for (const std::string& warning : program.warnings()) warn(warning);
  const LossInfo loss = task.gradients() || !scalar.empty() ? program.loss().value_or(LossInfo{}) : LossInfo{};
  if (inputs.label.empty() && inputs.tensors.contains(loss.label)) {
    inputs.label_type = inputs.tensors.at(loss.label).type();
    inputs.label = inputs.tensors.at(loss.label).cast(DType::kInt64);
  }
  if (!loss.label.empty() && inputs.label.empty())
    throw Error(ErrorKind::kUsage, "expected --label FILE with --loss, found none");
  if (!inputs.label.empty()) check_label_shape(graph, loss, inputs, options.text("label"));

  ReplicaGroup replicas(program, devices, registry());
  std::vector<StepFeeds> feeds = make_feeds(graph, inputs, shares, loss);
  OutputFolder folder(options.text("output"));
  std::vector<double> losses;
  for (int64_t step = 0; step < task.steps; ++step) {
    for (StepFeeds& feed : feeds) {
      feed.scalars[kLearningRate] = options.number("lr", 0);
      feed.scalars[kOptimizerStep] = static_cast<double>(step + 1);
    }
    const std::vector<StepOutputs> outputs = replicas.run(mode, feeds);
    if (task.loss) losses.push_back(outputs.front().at(kLossOutput).to_double().front());
    if (step == 0) collect_outputs(graph, outputs, folder);
  }
  if (task.loss) folder.add("loss", "loss", "", HostTensor::from<double>({task.steps}, losses));
  if (task.training) collect_updates(graph, replicas, shares, local_state(options), folder);
  folder.write();
  return 0;
}

}  // namespace

Command run_command() {
  return {{.name = "run",
           .summary = "run one batch and write outputs, gradients and updates as .npy",
           .positional = "M.onnx",
           .min_positional = 1,
           .max_positional = 1,
           .options = run_options()},
          run};
}

}  // namespace onward::cli
