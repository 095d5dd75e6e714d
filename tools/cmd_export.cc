// onward export: the trained model as .onnx, under the names that the file came with.
#include <fmt/format.h>

#include <filesystem>

#include "graph/error.h"
#include "tools/checkpoint_model.h"
#include "tools/command.h"
#include "tools/log.h"
#include "tools/run_folder.h"

namespace onward::cli {
namespace {

std::vector<OptionSpec> options_of_export() {
  return {{"Outputs", "output", "FILE", "", "the .onnx to write (-o)"},
          {"Outputs", "checkpoint", "WHICH", "last", "last, best, or a checkpoint file"}};
}

int run(const Options& options) {
  const std::string output = options.text("output");
  if (output.empty()) throw Error(ErrorKind::kUsage, "expected -o FILE, the .onnx to write, found none");
  const std::string& argument = options.positional().front();
  if (names_model(argument)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected a run's folder or a checkpoint, found the model '{}'", argument));
  }
  const RunFiles files = find_run(argument, options.text("checkpoint"));
  const Checkpoint checkpoint = load_checkpoint(files.checkpoint);
  trained_model(Model::load(files.source), checkpoint).save(output);
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
