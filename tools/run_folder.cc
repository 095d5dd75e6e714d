#include "tools/run_folder.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/atomic_file.h"
#include "graph/error.h"
#include "runtime/checkpoint_folder.h"
#include "runtime/safetensors.h"
#include "tools/output_file.h"

namespace onward::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kSource = "source.onnx";
constexpr const char* kLog = "log.jsonl";
constexpr const char* kTable = "log.csv";
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

// Whether what a line of log.jsonl tells was before the position. Half a line is none.
bool precedes_as_json(const std::string& line, const TrainingPosition& position) {
  const nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
  if (!entry.is_object()) return false;
  return entry.value("kind", "") == "epoch" ? entry.value("epoch", int64_t{0}) <= position.epoch
                                            : entry.value("step", int64_t{0}) <= position.step;
}

// The same for log.csv, whose rows begin with the epoch and whose head does not.
bool precedes_as_row(const std::string& line, const TrainingPosition& position) {
  int64_t epoch = 0;
  const auto result = std::from_chars(line.data(), line.data() + line.size(), epoch);
  return result.ec != std::errc() || epoch <= position.epoch;
}

// Leaves the lines for which `keep` is true; it is told whether the line has its end. Error(kRun) if the file cannot be
// written.
template <typename Keep>
void keep_lines(const std::string& path, Keep keep) {
  std::ifstream stream(path);
  std::string kept;
  bool changed = false;
  for (std::string line; std::getline(stream, line);) {
    const bool whole = !stream.eof(), wanted = keep(line, whole);
    changed |= !wanted || !whole;
    if (wanted) kept += line + "\n";
  }
  if (changed) write_atomically(path, kept);
}

// True for a file that is not there, too.
bool ends_with_line(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(-1, std::ios::end);
  const int last = stream.get();
  return !stream || last == '\n';
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
  const std::string problem = error ? error.message() : write_problem(folder.file(".write-test"));
  if (!problem.empty())
    throw Error(ErrorKind::kUsage, fmt::format("the output folder '{}' cannot be written: {}", path, problem));
  return folder;
}

void RunFolder::write_config(const std::string& json) const { write_atomically(file(kConfig), json + "\n"); }

std::string RunFolder::rewind(const TrainingPosition& position) {
  try {
    keep_lines(file(kLog), [&](const std::string& line, bool) { return precedes_as_json(line, position); });
    keep_lines(file(kTable),
               [&](const std::string& line, bool whole) { return whole && precedes_as_row(line, position); });
  } catch (const Error& error) {
    return fmt::format("the logs keep rows of steps that are run again: {}", error.message());
  }
  return "";
}

std::string RunFolder::append(const std::string& name, const std::string& line) {
  const bool cut = !ends_with_line(file(name));  // by a full disk
  std::ofstream stream(file(name), std::ios::app);
  stream << (cut ? "\n" : "") << line << std::flush;
  if (stream || log_failed_) return "";
  log_failed_ = true;
  return fmt::format("'{}' cannot be written; training goes on without the log", file(name));
}

std::string RunFolder::log(const StepReport& report) { return append(kLog, to_json(report).dump() + "\n"); }

std::string RunFolder::log(const EpochReport& report) {
  std::error_code error;
  const bool fresh = !fs::exists(file(kTable), error) || fs::file_size(file(kTable), error) == 0;
  std::string row = fresh ? kCsvHeader : "";
  row += fmt::format("{},{},{},{},{},{},{},{:.2f},{:.3f}\n", report.epoch, report.step, report.loss, report.test.loss,
                     report.test.accuracy, report.test.top5, report.learning_rate, report.examples_per_second,
                     report.seconds);
  const std::string first = append(kLog, to_json(report).dump() + "\n");
  const std::string second = append(kTable, row);
  return first.empty() ? second : first;
}

bool names_model(const std::string& argument) {
  std::error_code error;
  const std::string ending = fs::path(argument).extension();
  if (!fs::is_regular_file(argument, error)) return ending == ".onnx";
  return ending != ".safetensors" && !begins_as_safetensors(argument);
}

void check_checkpoint_choice(const Options& options) {
  const std::string& argument = options.positional().front();
  std::error_code error;
  if (!options.given("checkpoint") || fs::is_directory(argument, error)) return;
  throw Error(ErrorKind::kUsage, fmt::format("expected a run's folder with --checkpoint {}, found '{}'",
                                             options.text("checkpoint"), argument));
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
      throw Error(
          ErrorKind::kData,
          fmt::format("expected '{}' {}, found none", fs::path(path).filename().string(),
                      is_folder ? fmt::format("in the run '{}'", argument)
                                : fmt::format("beside the checkpoint '{}', in the folder of its run", argument)));
    }
  }
  if (fs::exists(folder / kConfig, error)) files.config = folder / kConfig;
  return files;
}

}  // namespace onward::cli
