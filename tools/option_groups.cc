#include "tools/option_groups.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "graph/error.h"

namespace onward::cli {

namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

void read_no_decay(const Options& options, ProgramOptions& program) {
  for (const std::string& item : split(options.text("no-decay"))) {
    if (item == "norm") {
      program.no_decay_norm = true;
    } else if (item == "bias") {
      program.no_decay_bias = true;
    } else {
      with_suggestion(item, {"norm", "bias"}, [&] {
        throw Error(ErrorKind::kUsage, "expected --no-decay to list norm or bias, found '" + item + "'");
      });
    }
  }
}

void read_optimizer(const Options& options, ProgramOptions& program) {
  program.optimizer = optimizer_kind(options.text("optimizer"));
  program.momentum = options.number("momentum", 0);
  program.beta1 = options.number("beta1", 0);
  program.beta2 = options.number("beta2", 0);
  program.epsilon = options.number("epsilon", 0, true);
  program.weight_decay = options.number("weight-decay", 0);
  program.clip_norm = options.number("clip-norm", 0);
  program.clip_value = options.number("clip-value", 0);
  for (const char* name : {"momentum", "beta1", "beta2"}) {
    if (options.number(name, 0) >= 1) {
      throw Error(ErrorKind::kUsage,
                  std::string("expected --") + name + " to be below 1, found '" + options.text(name) + "'");
    }
  }
  for (const std::string& globs : options.texts("freeze")) {
    for (const std::string& glob : split(globs)) program.freeze.push_back(glob);
  }
  if (options.text("on-nan") == "skip") program.non_finite = NonFinite::kSkip;
  program.keep_tied = options.flag("keep-tied");
  program.init = options.text("init") == "kaiming" ? InitKind::kKaiming : InitKind::kKeep;
  read_no_decay(options, program);
}

}  // namespace

std::vector<OptionSpec> data_options() {
  return {
      {"Data", "data", "PATH", "", "folder or archive of the data set; not needed for synthetic data"},
      {"Data", "dataset", "KIND", "auto", "what PATH holds", {"auto", "cifar10", "cifar100", "mnist", "synthetic"}},
      {"Data", "fit", "HOW", "none", "pad: pad images and repeat channels up to the model's input", {"none", "pad"}},
      {"Data", "normalize", "WHAT", "auto",
       "auto, cifar10, cifar100, mnist, fashion-mnist, imagenet, none, or means/deviations M,M,M/S,S,S"},
      {"Data", "workers", "N", "2", "loader threads; 0 loads on the training thread"},
      {"Data", "batch-size", "N", "128", "global batch size, over all replicas"},
  };
}

std::vector<OptionSpec> device_options() {
  return {
      {"Devices", "devices", "LIST", "auto", "auto, cpu, cpu:K (K replicas), cuda, cuda:I,J or cuda*K"},
      {"Devices", "threads", "N", "0", "compute threads of this process, shared by its replicas; 0: one a core"},
      {"Devices",
       "bn",
       "MODE",
       "sync",
       "batch statistics of all replicas, of each alone, or the first replica's kept",
       {"sync", "local", "rank0"}},
      {"Devices",
       "bn-running-var",
       "RULE",
       "population",
       "running variance by the ONNX text, or by PyTorch's rule",
       {"population", "unbiased"}},
      {"Devices", "bucket-mib", "X", "25", "largest bucket of gradients that are reduced together"},
  };
}

std::vector<OptionSpec> precision_options() {
  return {
      {"Training", "precision", "TYPE", "fp32", "type of parameters and activations", {"fp32", "fp64"}},
      {"Training", "seed", "S", "0", "seed of shuffling, augmentation, dropout and initialisation"},
  };
}

std::vector<OptionSpec> optimizer_options() {
  return {
      {"Training",
       "loss",
       "KIND",
       "auto",
       "auto: the file's own scalar loss, else cross entropy",
       {"auto", "cross_entropy"}},
      {"Training", "optimizer", "NAME", "adam", "update rule", {"sgd", "momentum", "nesterov", "adam", "adamw"}},
      {"Training", "momentum", "X", "0.9", "of momentum and nesterov"},
      {"Training", "beta1", "X", "0.9", "of adam and adamw: decay of the mean"},
      {"Training", "beta2", "X", "0.999", "of adam and adamw: decay of the square"},
      {"Training", "epsilon", "X", "1e-8", "of adam and adamw"},
      {"Training", "weight-decay", "X", "0", "L2 decay; decoupled for adamw"},
      {"Training", "no-decay", "LIST", "", "norm, bias: parameters without weight decay"},
      {"Training", "clip-norm", "X", "0", "limit of the global norm of the gradient; 0: off"},
      {"Training", "clip-value", "X", "0", "limit of every element of the gradient; 0: off"},
      {"Training",
       "freeze",
       "GLOB",
       "",
       "parameters that are not trained, by name; may be given several times",
       {},
       true},
      {"Training", "init", "HOW", "keep", "keep the file's parameters, or draw new ones", {"keep", "kaiming"}},
      {"Training", "keep-tied", "", "", "a tensor that the file stores once stays one, whatever its elements"},
      {"Training", "on-nan", "HOW", "stop", "what a step with a non-finite loss or gradient does", {"stop", "skip"}},
  };
}

std::vector<OptionSpec> schedule_options() {
  return {
      {"Training", "epochs", "N", "10", "passes over the training data"},
      {"Training", "max-steps", "N", "0", "end after this many optimizer steps; 0: no limit"},
      {"Training", "lr", "X", "0.001", "learning rate"},
      {"Training", "schedule", "KIND", "constant", "how the rate falls", {"constant", "step", "cosine", "linear"}},
      {"Training", "min-lr", "X", "0", "rate at the end of cosine and linear"},
      {"Training", "step-epochs", "N", "30", "of the step schedule: epochs between two reductions"},
      {"Training", "step-factor", "X", "0.1", "of the step schedule: what a reduction multiplies by"},
      {"Training", "warmup-epochs", "X", "0", "epochs over which the rate grows from 0"},
      {"Training",
       "lr-scale",
       "RULE",
       "none",
       "scale the rate by batch-size / base-batch-size, or its root",
       {"none", "linear", "sqrt"}},
      {"Training", "base-batch-size", "N", "0", "the batch size that --lr was chosen for; 0: no scaling"},
      {"Training", "accumulate", "N", "1", "batches whose gradients make one update"},
  };
}

std::vector<OptionSpec> train_options() {
  return join(
      {data_options(),
       {{"Data", "augment", "LIST", "none", "hflip, vflip, crop:N; none"},
        {"Data", "drop-last", "", "", "leave out a last batch that is not full"}},
       device_options(),
       schedule_options(),
       optimizer_options(),
       precision_options(),
       {{"Training", "winograd", "", "", "3x3 convolutions by Winograd's algorithm: faster, rounds differently"},
        {"Training",
         "autotune",
         "CHOICE",
         "",
         "measure for which convolutions Winograd is faster; or direct, or the list that config.json holds, to repeat "
         "a run",
         {},
         false,
         "measure"}},
       {{"Outputs", "out", "RUN", "", "folder of the run: checkpoints, logs, configuration"},
        {"Outputs", "resume", "FROM", "", "auto: RUN/last.safetensors if it is there; or a checkpoint file"},
        {"Outputs", "save-every", "N", "0", "optimizer steps between checkpoints, besides every epoch; 0: none"},
        {"Outputs", "keep", "N", "0", "step-*.safetensors files kept besides last and best"},
        {"Outputs", "trace", "FILE", "", "write a Chrome trace of one step, the third"},
        {"Outputs", "dry-run", "", "", "import, run the passes, plan, print what was decided, and end"},
        {"Outputs", "quiet", "", "", "only warnings, epochs and the total time"},
        {"Outputs", "config", "FILE", "", "JSON with option names as keys; flags win"}}});
}

std::vector<OptionSpec> join(std::vector<std::vector<OptionSpec>> groups) {
  std::vector<OptionSpec> all;
  for (auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

std::vector<Device> chosen_devices(const Options& options) {
  const std::string text = options.text("devices");
  const std::string kind = text.substr(0, text.find_first_of(":*"));
  return with_suggestion(kind, {"auto", "cpu", "cuda"},
                         [&] { return parse_devices(text, static_cast<int>(options.integer("threads", 0, 4096))); });
}

Normalisation normalisation(const Options& options, const std::string& dataset) {
  const std::string text = options.text("normalize");
  const std::vector<std::string> names = {"auto", "cifar10", "cifar100", "mnist", "fashion-mnist", "imagenet", "none"};
  return with_suggestion(text, text.find('/') == std::string::npos ? names : std::vector<std::string>{},
                         [&] { return parse_normalisation(text, dataset); });
}

Augmentation augmentation(const Options& options) {
  const std::string text = options.text("augment");
  for (const std::string& item : split(text))
    with_suggestion(item, {"hflip", "vflip", "crop:4", "none"}, [&] { return parse_augmentation(item); });
  return parse_augmentation(text);
}

BatchNormMode batch_norm_mode(const Options& options) {
  const std::string mode = options.text("bn");
  return mode == "sync" ? BatchNormMode::kSync : mode == "local" ? BatchNormMode::kLocal : BatchNormMode::kRank0;
}

LocalState local_state(const Options& options) {
  const BatchNormMode mode = batch_norm_mode(options);
  return mode == BatchNormMode::kSync    ? LocalState::kNone
         : mode == BatchNormMode::kLocal ? LocalState::kMean
                                         : LocalState::kFirst;
}

OptimizerKind optimizer_kind(const std::string& name) {
  if (name == "sgd") return OptimizerKind::kSgd;
  if (name == "momentum") return OptimizerKind::kMomentum;
  if (name == "nesterov") return OptimizerKind::kNesterov;
  if (name == "adam") return OptimizerKind::kAdam;
  return name == "adamw" ? OptimizerKind::kAdamW : OptimizerKind::kNone;
}

DType precision(const Options& options) {
  return options.text("precision") == "fp64" ? DType::kFloat64 : DType::kFloat32;
}

ProgramOptions program_options(const Options& options, int replicas) {
  ProgramOptions program;
  program.replicas = replicas;
  program.precision = precision(options);
  program.seed = static_cast<uint64_t>(options.integer("seed", 0));
  if (options.has("bn")) {
    program.batch_norm = batch_norm_mode(options);
    program.unbiased_running_variance = options.text("bn-running-var") == "unbiased";
    program.bucket_mib = options.number("bucket-mib", 0, true, static_cast<double>(kMostCount));
    program.first_bucket_mib = std::min(program.first_bucket_mib, program.bucket_mib);
  }
  if (options.has("loss")) {
    program.loss = options.text("loss") == "auto" ? LossKind::kAuto : LossKind::kCrossEntropy;
  }
  if (options.has("freeze")) read_optimizer(options, program);
  return program;
}

ProgramOptions training_options(const Options& options, int replicas) {
  ProgramOptions program = program_options(options, replicas);
  if (program.non_finite == NonFinite::kIgnore) program.non_finite = NonFinite::kReport;
  return program;
}

Schedule schedule(const Options& options, int64_t steps_per_epoch, int64_t total_steps, int64_t global_batch) {
  const std::string kind = options.text("schedule");
  const std::string scale = options.text("lr-scale");
  const int64_t base_batch = options.integer("base-batch-size", 0, kMostCount);
  if (scale != "none" && base_batch == 0) {
    throw Error(ErrorKind::kUsage, "expected --base-batch-size with --lr-scale " + scale + ", found none");
  }
  Schedule result;
  result.kind = kind == "step"     ? ScheduleKind::kStep
                : kind == "cosine" ? ScheduleKind::kCosine
                : kind == "linear" ? ScheduleKind::kLinear
                                   : ScheduleKind::kConstant;
  const auto rule = scale == "linear" ? LearningRateScale::kLinear
                    : scale == "sqrt" ? LearningRateScale::kSqrt
                                      : LearningRateScale::kNone;
  result.base = options.number("lr", 0, true) * learning_rate_factor(rule, global_batch, base_batch);
  result.minimum = options.number("min-lr", 0);
  result.total_steps = total_steps;
  const double warmup_epochs = options.number("warmup-epochs", 0, false, static_cast<double>(kMostCount));
  result.warmup_steps = std::llround(warmup_epochs * static_cast<double>(steps_per_epoch));
  result.step_interval = options.integer("step-epochs", 1, kMostCount) * steps_per_epoch;
  result.step_factor = options.number("step-factor", 0, true);
  return result;
}

}  // namespace onward::cli
