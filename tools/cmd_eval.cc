// onward eval: loss and accuracy of a model on a test set.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "graph/error.h"
#include "graph/tensor_file.h"
#include "runtime/evaluate.h"
#include "tools/checkpoint_model.h"
#include "tools/command.h"
#include "tools/log.h"
#include "tools/option_groups.h"
#include "tools/output_file.h"
#include "tools/run_folder.h"
#include "tools/session.h"

namespace onward::cli {
namespace {

std::vector<OptionSpec> eval_options() {
  return join({data_options(),
               device_options(),
               precision_options(),
               {{"Outputs", "checkpoint", "WHICH", "last", "of a run's folder: last, best, or a checkpoint file"},
                {"Outputs", "logits", "FILE", "",
                 "write the scores of every sample, in order, [samples, classes], as .npy or .pb"},
                {"Outputs", "json", "", "", "print one JSON object: samples, loss, accuracy, top5"},
                {"Outputs", "config", "FILE", "", "JSON with option names as keys; flags win"}}});
}

// Collects the scores of all batches, rows in the data set's order.
class Scores {
 public:
  explicit Scores(std::string name) : name_(std::move(name)) {}

  void add(const std::vector<StepOutputs>& outputs) {
    for (const StepOutputs& replica : outputs) {
      const HostTensor& rows = replica.at(name_);
      shape_ = rows.shape();
      dtype_ = rows.dtype();
      const auto* bytes = static_cast<const std::byte*>(rows.data());
      bytes_.insert(bytes_.end(), bytes, bytes + rows.bytes());
      count_ += rows.shape().front();
    }
  }

  void write(const std::string& path) {
    shape_.front() = count_;
    HostTensor all(dtype_, shape_);
    std::memcpy(all.edit(), bytes_.data(), bytes_.size());
    write_tensor_file(path, all);
  }

 private:
  std::string name_;
  Shape shape_;
  DType dtype_ = DType::kUndefined;
  int64_t count_ = 0;
  std::vector<std::byte> bytes_;
};

void print_result(const Evaluation& result, bool json) {
  if (json) {
    const nlohmann::ordered_json object = {
        {"samples", result.samples}, {"loss", result.loss}, {"accuracy", result.accuracy}, {"top5", result.top5}};
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{} samples, Loss {:.5f}, Test Acc {:.2f}%, Top-5 {:.2f}%\n", result.samples, result.loss,
               result.accuracy * 100, result.top5 * 100);
  }
}

// Before data are read: whether there will be scores, and whether they can be written.
void check_logits(const Options& options, const Session& session) {
  const std::string path = options.text("logits");
  if (!path.ends_with(".npy") && !path.ends_with(".pb"))
    throw Error(ErrorKind::kUsage, fmt::format("expected --logits FILE to end in .npy or .pb, found '{}'", path));
  check_output_file("logits", path);
  if (session.loss.scores.empty()) {
    throw Error(
        ErrorKind::kModel,
        "expected the model to have scores, [N, classes], for --logits, found only a loss whose scores cannot be "
        "told; leave out --logits, or make the scores an output of the model");
  }
}

// A run is evaluated as its own training evaluated it, unless the command line says otherwise.
Options with_defaults_of_run(Options options) {
  const std::string& argument = options.positional().front();
  if (names_model(argument)) return options;
  const std::string config = find_run(argument, options.text("checkpoint")).config;
  if (!config.empty()) options.adopt(config, {"normalize", "fit", "dataset", "seed", "precision", "batch-size"});
  return options;
}

std::vector<std::string> names_of(const std::vector<OptionSpec>& options) {
  std::vector<std::string> names;
  for (const OptionSpec& option : options) names.push_back(option.name);
  return names;
}

int run(const Options& given) {
  check_checkpoint_choice(given);
  const Options options = with_defaults_of_run(given);
  const Model model = open_model(options.positional().front(), options.text("checkpoint"));
  const std::vector<Device> devices = chosen_devices(options);
  normalisation(options, "cifar10");
  const int64_t batch = options.integer("batch-size", static_cast<int64_t>(devices.size()));
  const bool keep = options.given("logits");
  ProgramOptions program = program_options(options, static_cast<int>(devices.size()));
  program.keep_scores = keep;
  Session session = open_session(model, program, devices, ProgramMode::kEvaluate, batch);
  if (keep) check_logits(options, session);
  const Dataset data = open_data(options, session, Split::kTest);
  const std::unique_ptr<Loader> loader = open_loader(options, session, data, ProgramMode::kEvaluate, false);
  Scores scores(session.loss.scores);
  const Evaluation result = evaluate(*session.replicas, *loader, session.inputs, session.loss,
                                     [&](const Batch&, const std::vector<StepOutputs>& outputs) {
                                       if (keep) scores.add(outputs);
                                     });
  if (keep) scores.write(options.text("logits"));
  print_result(result, options.flag("json"));
  return 0;
}

}  // namespace

Command eval_command() {
  return {{.name = "eval",
           .summary = "loss and accuracy of a model, a run or a checkpoint on test data",
           .positional = "M.onnx|RUN|CHECKPOINT",
           .min_positional = 1,
           .max_positional = 1,
           .options = eval_options(),
           .foreign_options = names_of(train_options())},
          run};
}

}  // namespace onward::cli
