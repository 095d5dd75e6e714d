// onward export: the trained model as .onnx, under the names that the file came with.
#include <fmt/format.h>

#include "graph/error.h"
#include "passes/fold_batch_norm.h"
#include "passes/inline_functions.h"
#include "passes/model_program.h"
#include "passes/onnx_form.h"
#include "runtime/device.h"
#include "tools/checkpoint_model.h"
#include "tools/command.h"
#include "tools/log.h"
#include "tools/option_groups.h"
#include "tools/run_folder.h"

namespace onward::cli {
namespace {

std::vector<OptionSpec> options_of_export() {
  return {
      {"Outputs", "output", "FILE", "", "the .onnx to write (-o)"},
      {"Outputs", "checkpoint", "WHICH", "last", "of a run's folder: last, best, or a checkpoint file"},
      {"Outputs", "fold-batch-norm", "", "", "fold BatchNormalization into the convolutions before it"},
      {"Outputs", "training-graph", "", "", "write the generated training program of one replica instead, to look at"}};
}

// Functions of the file are inlined first: they may hold what is folded. A model without anything to fold stays as it
// is.
Model folded(const Model& model) {
  Graph graph = model.graph();
  inline_functions(graph, [&model](const OpId& op) { return model.function(op); });
  const int count = fold_batch_norm(graph);
  say(fmt::format("folded {} BatchNormalization node{} into convolutions", count, count == 1 ? "" : "s"));
  return count > 0 ? Model::from_graph(graph, {{kFoldedBatchNormKey, std::to_string(count)}}) : model;
}

// The program that the run's configuration makes of the trained model, for a batch of one.
Model training_graph(const Model& trained, const RunFiles& files) {
  const CommandSpec spec{.name = "train", .positional = "M.onnx", .options = train_options()};
  const Options run = parse_options(
      spec, files.config.empty() ? std::vector<std::string>{} : std::vector<std::string>{"--config", files.config});
  const auto replicas = static_cast<int>(parse_devices(run.text("devices")).size());
  ModelProgram program(trained, training_options(run, replicas));
  Graph graph = program.program({ProgramMode::kTrain, 1});
  to_onnx_form(graph);
  return Model::from_graph(graph);
}

int run(const Options& options) {
  const std::string output = options.text("output");
  if (output.empty()) throw Error(ErrorKind::kUsage, "expected -o FILE, the .onnx to write, found none");
  if (options.flag("fold-batch-norm") && options.flag("training-graph")) {
    throw Error(ErrorKind::kUsage,
                "expected --fold-batch-norm or --training-graph, found both; folded BatchNormalization has no training "
                "form");
  }
  const std::string& argument = options.positional().front();
  if (names_model(argument)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected a run's folder or a checkpoint, found the model '{}'", argument));
  }
  check_checkpoint_choice(options);
  const RunFiles files = find_run(argument, options.text("checkpoint"));
  const Checkpoint checkpoint = load_checkpoint(files.checkpoint);
  Model model = trained_model(Model::load(files.source), checkpoint);
  if (options.flag("training-graph")) {
    model = training_graph(model, files);
  } else if (options.flag("fold-batch-norm")) {
    model = folded(model);
  }
  model.save(output);
  say(fmt::format("wrote '{}' from '{}', step {}", output, files.checkpoint, checkpoint.position.step));
  return 0;
}

}  // namespace

Command export_command() {
  return {{.name = "export",
           .summary = "write the trained model of a run as .onnx",
           .positional = "RUN|CHECKPOINT",
           .min_positional = 1,
           .max_positional = 1,
           .options = options_of_export()},
          run};
}

}  // namespace onward::cli
