#pragma once
#include <cstdio>
#include <memory>
#include <string>

#include "runtime/trainer.h"
#include "tools/options.h"

namespace onward::cli {

// The folder of a run: config.json, source.onnx, log.jsonl, log.csv and the checkpoints.
class RunFolder {
 public:
  // Makes the folder. Error(kUsage) if it holds anything and the run does not resume; Error(kRun) if it cannot be
  // written.
  static RunFolder create(const std::string& path, bool resume);
  // The part of create() that needs no writing: whether the path may become the run's folder.
  static void check(const std::string& path, bool resume);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  void write_config(const std::string& json) const;
  // Makes the logs those of a run that has come to this position: rows of later steps and epochs, which will be run
  // again, and a line that was cut off go. A failure is told as a text.
  std::string rewind(const TrainingPosition& position);
  // One line of log.jsonl each; epochs also one of log.csv. A log that cannot be written ends no training: the first
  // failure is told to the caller as a text, later ones are silent.
  std::string log(const StepReport& report);
  std::string log(const EpochReport& report);

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string append(const std::string& name, const std::string& line);

  std::string path_;
  bool log_failed_ = false;
};

// The files that a RUN or CHECKPOINT argument stands for.
struct RunFiles {
  std::string checkpoint;  // the .safetensors file
  std::string source;      // the .onnx that was trained
  std::string config;      // "" if there is none
};

// `argument` is a run's folder or a checkpoint inside one; `which` is last, best or a file (relative to the folder or
// not). Error(kUsage) if the argument is neither, Error(kData) if the files are not there.
RunFiles find_run(const std::string& argument, const std::string& which = "last");

// Error(kUsage) if --checkpoint is given and the positional argument is not a run's folder, in which it could choose.
void check_checkpoint_choice(const Options& options);

// Whether the argument is a model rather than a run or a checkpoint: a file that does not begin as a checkpoint does.
// Where there is no file its ending decides.
bool names_model(const std::string& argument);

}  // namespace onward::cli
