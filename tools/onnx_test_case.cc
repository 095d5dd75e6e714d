#include "tools/onnx_test_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "graph/error.h"
#include "graph/model.h"
#include "graph/tensor_file.h"
#include "passes/model_program.h"
#include "runtime/replicas.h"

namespace onward::cli {
namespace {

namespace fs = std::filesystem;

struct DataSet {
  std::vector<HostTensor> inputs, outputs;
};

// NumPy, with which the data of the tests are made, lacks bfloat16: its bits come as uint16.
HostTensor as_declared(const HostTensor& tensor, DType declared) {
  if (tensor.dtype() != DType::kUInt16 || declared != DType::kBFloat16) return tensor;
  HostTensor out(declared, tensor.shape());
  std::memcpy(out.edit(), tensor.data(), tensor.bytes());
  return out;
}

std::vector<HostTensor> read_tensors(const fs::path& folder, const char* kind, const std::vector<Value*>& values) {
  std::vector<HostTensor> tensors;
  for (const Value* value : values) {
    const fs::path file = folder / fmt::format("{}_{}.pb", kind, tensors.size());
    tensors.push_back(as_declared(read_tensor_file(file), value->type.dtype));
  }
  return tensors;
}

std::vector<fs::path> data_set_folders(const std::string& folder) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("test_data_set_")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  if (folders.empty())
    throw Error(ErrorKind::kData, fmt::format("expected test_data_set_0 in '{}', found none", folder));
  return folders;
}

// Many tests give as inputs what the normal forms of ops have as constants: shapes, axes, limits. What stays an input
// is tried from the freest to the strictest.
enum class Binding {
  kNone,         // everything is an input
  kSmallInputs,  // scalars and lists are constants, but for the first input
  kEverything,   // all inputs are constants: the model is computed when it is loaded
};

bool is_bound(Binding binding, std::size_t index, const HostTensor& tensor) {
  if (binding == Binding::kSmallInputs) return index > 0 && tensor.shape().size() <= 1;
  return binding == Binding::kEverything;
}

// A Constant node, because a float that a file stores otherwise would be taken for a parameter.
void to_constant(Graph& graph, Value& input, const HostTensor& tensor) {
  Node* const first = graph.nodes().empty() ? nullptr : graph.nodes().front().get();
  const std::string name = input.name();
  Value& constant = *graph.add_node({"", "Constant"}, {}, {name}, {{"value", tensor}}, first).output(0);
  constant.type = input.type;
  graph.replace_uses(input, constant);
  graph.remove_input(input);
  graph.erase(input);
  graph.rename(constant, name);
}

// The first element of what is stored or given for a value; nullopt if it is computed.
std::optional<double> known_number(const Graph& graph, const DataSet& data, const Value& value) {
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.inputs()[i] == &value) return data.inputs[i].to_double().at(0);
  }
  if (!value.data.empty()) return value.data.to_double().at(0);
  const Node* node = value.producer();
  if (node && node->is("Constant") && node->attributes.has("value")) {
    return node->attributes.get_tensor("value").to_double().at(0);
  }
  return std::nullopt;
}

// From opset 12 on Dropout has the inputs data, ratio (0.5) and training_mode (false).
bool has_random_dropout(const Graph& graph, const DataSet& data) {
  return std::ranges::any_of(graph.nodes(), [&](const auto& node) {
    if (!node->is("Dropout") || !node->input(2)) return false;
    const bool trains = known_number(graph, data, *node->input(2)).value_or(0) != 0;
    return trains && (!node->input(1) || known_number(graph, data, *node->input(1)).value_or(0.5) > 0);
  });
}

// What made a test not apply, or fail before it ran.
struct Obstacle {
  std::string pass;  // in which the model was found unfit
  std::string message;
};

// A program that is made already.
class OneProgram final : public ProgramSource {
 public:
  explicit OneProgram(const Graph& graph) : graph_(graph) {}
  Graph program(const ProgramKey&) override { return graph_.clone(); }

 private:
  const Graph& graph_;
};

// One model on one data set with one binding of inputs.
class Trial {
 public:
  Trial(const Model& model, const DataSet& data, Binding binding, int threads)
      : model_(model), data_(data), binding_(binding), threads_(threads) {}

  // The outputs in order; nullopt: see obstacle().
  std::optional<std::vector<HostTensor>> run() {
    Graph graph = model_.graph();
    const Graph original = model_.graph();
    const RunnerHooks hooks{.after = [this](const std::string& pass, const Graph&) { passes_.push_back(pass); }};
    bind(graph);
    try {
      ModelProgram program(std::move(graph), options_, registry(), hooks,
                           [this](const OpId& op) { return model_.function(op); });
      return execute(program.program(ProgramRequest{.mode = ProgramMode::kEvaluate}, hooks), original);
    } catch (const Error& error) {
      obstacle_ = {failing_pass(), error.what()};
      return std::nullopt;
    }
  }

  const Obstacle& obstacle() const { return obstacle_; }

 private:
  void bind(Graph& graph) {
    options_.loss = LossKind::kNone;
    options_.optimizer = OptimizerKind::kNone;
    options_.keep_file_mode = true;
    options_.keep_outputs = true;
    const std::vector<Value*> inputs = graph.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Value& input = *inputs[i];
      const HostTensor& tensor = data_.inputs[i];
      if (is_bound(binding_, i, tensor)) {
        to_constant(graph, input, tensor);
      } else {
        options_.input_shapes[input.name()] = tensor.shape();
        feeds_.tensors[input.name()] = {tensor};
      }
    }
  }

  std::vector<HostTensor> execute(const Graph& graph, const Graph& original) {
    feeds_.local_batch = 1;
    OneProgram program(graph);
    ReplicaGroup replicas(program, parse_devices("cpu", threads_), registry());
    const StepOutputs outputs = replicas.run(ProgramMode::kEvaluate, {feeds_}).front();
    std::vector<HostTensor> list;
    for (const Value* output : original.outputs()) list.push_back(outputs.at(output->name()));
    return list;
  }

  // The pass after the last that ended; "" if all did.
  std::string failing_pass() const {
    std::vector<Pass> all = preparation_pipeline(options_);
    for (Pass& pass : pass_pipeline(options_, {.mode = ProgramMode::kEvaluate})) all.push_back(std::move(pass));
    return passes_.size() < all.size() ? all[passes_.size()].name : "";
  }

  const Model& model_;
  const DataSet& data_;
  Binding binding_;
  int threads_;
  ProgramOptions options_;
  StepFeeds feeds_;
  std::vector<std::string> passes_;  // that ended
  Obstacle obstacle_;
};

TestResult skipped(SkipClass skip, std::string detail) { return {TestStatus::kSkipped, skip, std::move(detail)}; }
TestResult failed(std::string detail) { return {.status = TestStatus::kFailed, .detail = std::move(detail)}; }

TestResult compare(const Graph& graph, const std::vector<HostTensor>& found, const DataSet& data,
                   const Tolerance& tolerance) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string text = difference(found[i], data.outputs[i], tolerance);
    if (!text.empty()) return failed(fmt::format("output '{}': {}", graph.outputs()[i]->name(), text));
  }
  return {};
}

TestResult run_data_set(const Model& model, const DataSet& data, const Tolerance& tolerance, int threads) {
  Obstacle obstacle;
  for (const Binding binding : {Binding::kNone, Binding::kSmallInputs, Binding::kEverything}) {
    Trial trial(model, data, binding, threads);
    if (const auto found = trial.run()) return compare(model.graph(), *found, data, tolerance);
    obstacle = trial.obstacle();
  }
  if (obstacle.pass == "supported-ops") return skipped(SkipClass::kUnsupportedOp, obstacle.message);
  if (obstacle.pass == "check-kernels" || obstacle.pass == "supported-types")
    return skipped(SkipClass::kUnsupportedType, obstacle.message);
  return failed(obstacle.message);
}

// The class of a test that cannot be run because of what its inputs and outputs are.
std::optional<TestResult> check_interface(const Graph& graph) {
  const auto check = [](const Value& value) -> std::optional<TestResult> {
    const DType dtype = value.type.dtype;
    if (dtype == DType::kUndefined)
      return skipped(SkipClass::kNotATensor, fmt::format("'{}' is not a tensor", value.name()));
    if (dtype_size(dtype) > 0) return std::nullopt;
    return skipped(SkipClass::kUnsupportedType, fmt::format("'{}' is {}", value.name(), value.type.text()));
  };
  for (const Value* value : graph.inputs()) {
    if (auto result = check(*value)) return result;
  }
  for (const Value* value : graph.outputs()) {
    if (auto result = check(*value)) return result;
  }
  return std::nullopt;
}

TestResult run_all(const std::string& folder, const Tolerance& tolerance, int threads) {
  const Model model = Model::load((fs::path(folder) / "model.onnx").string());
  const Graph graph = model.graph();
  if (const auto result = check_interface(graph)) return *result;
  for (const fs::path& path : data_set_folders(folder)) {
    const DataSet data{read_tensors(path, "input", graph.inputs()), read_tensors(path, "output", graph.outputs())};
    if (has_random_dropout(graph, data)) return skipped(SkipClass::kRandomNumbers, "dropout in training");
    TestResult result = run_data_set(model, data, tolerance, threads);
    if (result.status != TestStatus::kPassed) return result;
  }
  return {};
}

}  // namespace

std::string skip_name(SkipClass skip) {
  switch (skip) {
    case SkipClass::kUnsupportedOp: return "unsupported op";
    case SkipClass::kUnsupportedType: return "unsupported type";
    case SkipClass::kNotATensor: return "not a tensor";
    case SkipClass::kRandomNumbers: return "random numbers";
  }
  return "?";
}

std::vector<std::string> find_test_cases(const std::string& folder) {
  if (!fs::is_directory(folder))
    throw Error(ErrorKind::kData, fmt::format("expected a folder, found none at '{}'", folder));
  std::vector<std::string> found;
  if (fs::exists(fs::path(folder) / "model.onnx")) found.push_back(folder);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_directory() && fs::exists(entry.path() / "model.onnx")) found.push_back(entry.path().string());
  }
  if (found.empty())
    throw Error(ErrorKind::kData, fmt::format("expected a model.onnx at or below '{}', found none", folder));
  std::sort(found.begin(), found.end());
  return found;
}

TestResult run_test_case(const std::string& folder, const Tolerance& tolerance, int threads) {
  try {
    return run_all(folder, tolerance, threads);
  } catch (const Error& error) {
    return failed(error.what());
  }
}

}  // namespace onward::cli
