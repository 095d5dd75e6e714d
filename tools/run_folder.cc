#include "tools/run_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/atomic_file.h"
#include "graph/error.h"
#include "runtime/checkpoint_folder.h"
#include "runtime/safetensors.h"

namespace onward::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kSource = "source.onnx";
constexpr const char* kCsvHeader =
    "epoch,step,loss,test_loss,test_accuracy,test_top5,learning_rate,examples_per_second,seconds\n";

nlohmann::json to_json(const StepReport& report) {
  return {{"kind", "step"},           {"step", report.position.step},          {"epoch", report.position.epoch + 1},
          {"loss", report.loss},      {"learning_rate", report.learning_rate}, {"samples", report.samples},
          {"seconds", report.seconds}};
}

nlohmann::json to_json(const EpochReport& report) {
  return {{"kind", "epoch"},
          {"epoch", report.epoch},
          {"step", report.step},
          {"loss", report.loss},
          {"examples_per_second", report.examples_per_second},
          {"test_samples", report.test.samples},
          {"test_loss", report.test.loss},
          {"test_accuracy", report.test.accuracy},
          {"test_top5", report.test.top5},
          {"learning_rate", report.learning_rate},
          {"seconds", report.seconds},
          {"best", report.best},
          {"parameters_hash", fmt::format("{:016x}", report.parameters_hash)}};
}

}  // namespace

void RunFolder::check(const std::string& path, bool resume) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error)) {
    throw Error(ErrorKind::kUsage, fmt::format("expected --out to be a folder, found the file '{}'", path));
  }
  if (!resume && fs::exists(path, error) && !fs::is_empty(path, error)) {
    throw Error(ErrorKind::kUsage, fmt::format("expected an empty or new folder for --out, found files in '{}'; "
                                               "use --resume auto to go on with that run, or another folder",
                                               path));
  }
}

RunFolder RunFolder::create(const std::string& path, bool resume) {
  check(path, resume);
  std::error_code error;
  fs::create_directories(path, error);
  RunFolder folder(path);
  // Written first, so that a folder that cannot be written is known before anything is computed.
  const std::string probe = folder.file(".write-test");
  try {
    if (error) throw Error(ErrorKind::kRun, error.message());
    write_atomically(probe, std::string());
    fs::remove(probe, error);
  } catch (const Error& cause) {
    throw Error(ErrorKind::kUsage, fmt::format("the output folder '{}' cannot be written: {}", path, cause.message()));
  }
  return folder;
}

void RunFolder::write_config(const std::string& json) const { write_atomically(file(kConfig), json + "\n"); }

std::string RunFolder::append(const std::string& name, const std::string& line) {
  std::ofstream stream(file(name), std::ios::app);
  stream << line << std::flush;
  if (stream || log_failed_) return "";
  log_failed_ = true;
  return fmt::format("'{}' cannot be written; training goes on without the log", file(name));
}

std::string RunFolder::log(const StepReport& report) { return append("log.jsonl", to_json(report).dump() + "\n"); }

std::string RunFolder::log(const EpochReport& report) {
  std::error_code error;
  const bool fresh = !fs::exists(file("log.csv"), error);
  std::string row = fresh ? kCsvHeader : "";
  row += fmt::format("{},{},{},{},{},{},{},{:.2f},{:.3f}\n", report.epoch, report.step, report.loss, report.test.loss,
                     report.test.accuracy, report.test.top5, report.learning_rate, report.examples_per_second,
                     report.seconds);
  const std::string first = append("log.jsonl", to_json(report).dump() + "\n");
  const std::string second = append("log.csv", row);
  return first.empty() ? second : first;
}

bool names_model(const std::string& argument) {
  std::error_code error;
  const std::string ending = fs::path(argument).extension();
  if (!fs::is_regular_file(argument, error)) return ending == ".onnx";
  return ending != ".safetensors" && !begins_as_safetensors(argument);
}

RunFiles find_run(const std::string& argument, const std::string& which) {
  std::error_code error;
  const bool is_folder = fs::is_directory(argument, error);
  if (!is_folder && fs::path(argument).extension() != ".safetensors" && !begins_as_safetensors(argument)) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("expected a run's folder, a .safetensors checkpoint or an .onnx file, found '{}'", argument));
  }
  const fs::path folder = is_folder ? fs::path(argument) : fs::path(argument).parent_path();
  RunFiles files;
  if (!is_folder) {
    files.checkpoint = argument;
  } else if (which == "last" || which == "best") {
    files.checkpoint = folder / (which == "last" ? kLastCheckpoint : kBestCheckpoint);
  } else {
    files.checkpoint = fs::exists(folder / which, error) ? folder / which : fs::path(which);
  }
  files.source = folder / kSource;
  for (const std::string& path : {files.checkpoint, files.source}) {
    if (!fs::exists(path, error)) {
      throw Error(ErrorKind::kData, fmt::format("expected '{}' in the run '{}', found none",
                                                fs::path(path).filename().string(), folder.string()));
    }
  }
  if (fs::exists(folder / kConfig, error)) files.config = folder / kConfig;
  return files;
}

}  // namespace onward::cli
