// onward train: model -> programs -> plans -> epochs. The five verbs of the program in order: import (Model::load),
// passes (ModelProgram), plan and run (ReplicaGroup), train (Trainer).
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>

#include "graph/error.h"
#include "runtime/checkpoint_folder.h"
#include "runtime/trainer.h"
#include "tools/autotune_option.h"
#include "tools/checkpoint_config.h"
#include "tools/command.h"
#include "tools/idle_options.h"
#include "tools/interrupt.h"
#include "tools/log.h"
#include "tools/option_groups.h"
#include "tools/prepare_batches.h"
#include "tools/progress.h"
#include "tools/resume_check.h"
#include "tools/run_folder.h"
#include "tools/session.h"
#include "tools/trace_file.h"

namespace onward::cli {
namespace {

// Everything of a training that outlives its set-up.
struct Training {
  Session session;
  Dataset train_data, test_data;
  std::unique_ptr<Loader> train, test;
  std::optional<RunFolder> folder;
  std::string resume_from;  // "" : from the start
  Checkpoint checkpoint;    // of resume_from
  std::string model, data;  // their identities, see resume_check.h
};

std::string resume_file(const Options& options) {
  const std::string from = options.text("resume");
  if (from.empty()) return "";
  if (from != "auto") return from;
  return last_checkpoint(options.text("out"));
}

void check_batch_size(int64_t batch, std::size_t replicas) {
  if (batch >= static_cast<int64_t>(replicas)) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("expected --batch-size of at least {} (one sample for each replica), found {}", replicas, batch));
}

int64_t updates_per_epoch(const Options& options, const Loader& loader) {
  const int64_t accumulate = options.integer("accumulate", 1);
  return (loader.steps_per_epoch() + accumulate - 1) / accumulate;
}

std::string device_list(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device& device : devices) names.push_back(device.text());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string share_list(int64_t batch, std::size_t replicas) {
  std::vector<int64_t> counts;
  for (const BatchShare& share : split_batch(batch, static_cast<int64_t>(replicas))) counts.push_back(share.count);
  return fmt::format("{}", fmt::join(counts, "/"));
}

// The rate that the run works with, how it comes from --lr, and what becomes of it:
// "learning rate 0.002 (--lr 0.001 times 256/128), cosine to 0 over 10 epochs, warm-up over the first 0.5".
std::string rate_text(const Options& options, const Schedule& schedule, int64_t global_batch) {
  const std::string scale = options.text("lr-scale"), kind = options.text("schedule");
  std::string text = fmt::format("learning rate {:g}", schedule.base);
  if (scale != "none") {
    text += fmt::format(" (--lr {} times {}{}/{})", options.text("lr"), scale == "sqrt" ? "the root of " : "",
                        global_batch, options.text("base-batch-size"));
  }
  if (kind == "step") {
    text += fmt::format(", times {} every {} epochs", options.text("step-factor"), options.text("step-epochs"));
  } else if (kind == "constant") {
    text += ", constant";
  } else {
    text += fmt::format(", {} to {} over {} epochs", kind, options.text("min-lr"), options.text("epochs"));
  }
  if (options.number("warmup-epochs", 0) > 0)
    text += fmt::format(", warm-up over the first {}", options.text("warmup-epochs"));
  return text;
}

void say_decisions(const Options& options, const Session& session, const Schedule& schedule) {
  const int64_t batch = options.integer("batch-size", 1);
  say(fmt::format("devices: {}, {} thread{} each", device_list(session.devices), session.devices.front().threads,
                  session.devices.front().threads == 1 ? "" : "s"));
  say(fmt::format("batch: {} in all, {} per replica", batch, share_list(batch, session.devices.size())));
  say(fmt::format("batch norm: {}, running variance {}", options.text("bn"), options.text("bn-running-var")));
  say(fmt::format("optimizer: {}, {}", options.text("optimizer"),
                  rate_text(options, schedule, batch * options.integer("accumulate", 1))));
  if (const std::string choice = options.text("autotune"); !choice.empty())
    say(fmt::format("convolutions by Winograd: {}", choice == "direct" ? "none" : choice));
  const Plan& plan = session.replicas->plan(
      {ProgramMode::kTrain, split_batch(batch, static_cast<int64_t>(session.devices.size())).front().count});
  say(fmt::format("plan: {} steps, {} collectives, {} layout conversions, {} packings of weights, arena {:.1f} MiB",
                  plan.steps.size(), plan.collectives(), plan.conversions(), plan.reorders(),
                  static_cast<double>(plan.arena_bytes) / (1 << 20)));
}

// Better to know before the first epoch than at its end what is wrong with its short last batch.
void prepare_all_batches(const Options& options, const Training& training) {
  const Sampler sampler({.samples = training.train_data.count(),
                         .batch_size = options.integer("batch-size", 1),
                         .drop_last = options.flag("drop-last")});
  prepare_batches(training.session,
                  batch_kinds(sampler, options.integer("accumulate", 1), options.integer("max-steps", 0)));
}

TrainerOptions trainer_options(const Options& options, const Training& training, const Schedule& schedule) {
  TrainerOptions result;
  result.epochs = options.integer("epochs", 1);
  result.max_steps = options.integer("max-steps", 0);
  result.accumulate = options.integer("accumulate", 1);
  result.schedule = schedule;
  result.stop_on_nan = options.text("on-nan") == "stop";
  result.inputs = training.session.inputs;
  result.loss = training.session.loss;
  result.local_names = training.session.local_state;
  result.local_state = result.local_names.empty() ? LocalState::kNone : local_state(options);
  result.folder = training.folder ? training.folder->path() : "";
  result.save_every = options.integer("save-every", 0);
  result.keep = options.integer("keep", 0);
  result.metadata = {{kRunConfig, options.resolved_json()},
                     {"seed", options.text("seed")},
                     {kModelIdentity, training.model},
                     {kDataIdentity, training.data}};
  return result;
}

// Records one step in the middle of the run's first ones, when everything is warm.
class StepTracer {
 public:
  StepTracer(const Options& options, ReplicaGroup& replicas) : file_(options.text("trace")), replicas_(replicas) {}
  void before_step() {
    if (!file_.empty() && ++steps_ == kTracedStep) replicas_.start_trace();
  }
  void after_step() {
    if (file_.empty() || steps_ != kTracedStep) return;
    try {
      write_trace(file_, replicas_.stop_trace());
    } catch (const Error& error) {
      warn(error.message());
    }
  }

  // A run that was too short leaves no trace; it should not be silent about it.
  void finish() const {
    if (!file_.empty() && steps_ < kTracedStep)
      warn(fmt::format("no trace: the run had {} steps, the one traced is step {}", steps_, kTracedStep));
  }

 private:
  static constexpr int kTracedStep = 3;
  std::string file_;
  ReplicaGroup& replicas_;
  int steps_ = 0;
};

TrainerEvents trainer_events(Training& training, ProgressBar& bar, StepTracer& tracer) {
  TrainerEvents events;
  events.before_step = [&] { tracer.before_step(); };
  events.warning = [&](const std::string& text) {
    bar.clear();
    warn(text);
  };
  const auto log = [&](const auto& report) {
    if (!training.folder) return;
    const std::string problem = training.folder->log(report);
    if (problem.empty()) return;
    bar.clear();
    warn(problem);
  };
  events.step = [&, log](const StepReport& report) {
    tracer.after_step();
    log(report);
    const double part =
        static_cast<double>(report.position.batch_in_epoch) / static_cast<double>(report.steps_per_epoch);
    bar.show(part, fmt::format("epoch {} loss {:.4f} {:.1f} examples/sec", report.position.epoch + 1, report.loss,
                               static_cast<double>(report.samples) / report.seconds));
  };
  events.epoch = [&, log](const EpochReport& report) {
    bar.clear();
    fmt::print("Epoch {}, Loss {:.5f}, {:.2f} examples/sec, Test Acc {:.2f}%\n", report.epoch, report.loss,
               report.examples_per_second, report.test.accuracy * 100);
    std::fflush(stdout);
    log(report);
  };
  return events;
}

// Everything that can be wrong with the options themselves, before the model is built or data is read.
void check_options(const Options& options) {
  for (const char* name : {"epochs", "accumulate", "batch-size"}) options.integer(name, 1, kMostCount);
  for (const char* name : {"max-steps", "save-every", "keep", "workers"}) options.integer(name, 0);
  schedule(options, 1, 1, 1);
  check_autotune(options);
  augmentation(options);
  normalisation(options, "cifar10");
  parse_fit(options.text("fit"));
  parse_dataset_kind(options.text("dataset"));
  if (options.text("out").empty() && !options.flag("dry-run")) {
    throw Error(ErrorKind::kUsage, "expected --out RUN, the folder of the run, found none");
  }
}

// Before data are read: whether the checkpoint has the optimizer's state for all that is trained now.
void check_trained_parameters(const Options& options, const Training& training) {
  const auto replicas = static_cast<int64_t>(training.session.devices.size());
  const int64_t rows = split_batch(options.integer("batch-size", 1), replicas).front().count;
  const auto update_program = [&] { return training.session.program->program({ProgramMode::kTrain, rows}); };
  check_trained(options, update_program, training.checkpoint, training.resume_from);
}

// What the run does otherwise than the one that made the checkpoint.
void warn_of_changes(const Options& options, const Model& model, const Training& training) {
  const std::set<std::string> idle =
      idle_options(options, training.checkpoint, model, training.session, training.train_data);
  const std::string changes = changes_since(options, training.data, training.checkpoint, training.resume_from, idle);
  if (!changes.empty()) warn(changes);
}

// Opens everything in the order in which mistakes should be found: options, checkpoint, model, data, output folder.
// Measured choices take the place of the wish to measure in `options`.
Training set_up(Options& options, const Model& model) {
  Training training;
  const std::vector<Device> devices = chosen_devices(options);
  const int64_t batch = options.integer("batch-size", 1);
  check_batch_size(batch, devices.size());
  if (!options.flag("dry-run")) RunFolder::check(options.text("out"), options.given("resume"));
  const ProgramMode mode = options.integer("accumulate", 1) > 1 ? ProgramMode::kAccumulateFirst : ProgramMode::kTrain;
  training.model = identity(model);
  training.resume_from = resume_file(options);
  const bool resumes = !training.resume_from.empty();
  if (resumes) {
    training.checkpoint = load_checkpoint(training.resume_from);
    check_resumable(options, training.model, training.checkpoint, training.resume_from);
    adopt_choice(options, training.checkpoint);
  }
  ReplicaOptions replica_options;
  replica_options.winograd = options.flag("winograd");
  replica_options.winograd_for = chosen_algorithms(options);
  const bool tune = asks_to_measure(options);
  training.session = open_session(model, training_options(options, static_cast<int>(devices.size())), devices, mode,
                                  batch, replica_options, tune);
  if (tune) options.replace("autotune", autotune_text(training.session.winograd_for));
  if (resumes) check_trained_parameters(options, training);
  if (options.flag("dry-run") && options.text("data").empty() && options.text("dataset") != "synthetic")
    return training;
  training.train_data = open_data(options, training.session, Split::kTrain);
  training.test_data = open_data(options, training.session, Split::kTest);
  training.train = open_loader(options, training.session, training.train_data, ProgramMode::kTrain, true);
  training.test = open_loader(options, training.session, training.test_data, ProgramMode::kEvaluate, false);
  training.data = identity(training.train_data);
  if (resumes) warn_of_changes(options, model, training);
  prepare_all_batches(options, training);
  if (!options.flag("dry-run")) training.folder = RunFolder::create(options.text("out"), options.given("resume"));
  return training;
}

int end_code(TrainingEnd end, const std::atomic<int>& interrupt) {
  if (end == TrainingEnd::kDone) return 0;
  warn(fmt::format("stopped by a signal; go on with --resume auto"));
  return interrupt.load() == SIGTERM ? 143 : 130;
}

int train(Training& training, Trainer& trainer, StepTracer& tracer, const Options& options,
          const std::atomic<int>& interrupt) {
  if (!training.resume_from.empty()) {
    trainer.resume(training.checkpoint);
    say(fmt::format("resumed '{}' at step {}, epoch {}", training.resume_from, trainer.position().step,
                    trainer.position().epoch + 1));
    if (trainer.position().epoch >= options.integer("epochs", 1))
      warn("the run has all its epochs; raise --epochs to go on");
  }
  const std::string problem = training.folder->rewind(trainer.position());
  if (!problem.empty()) warn(problem);
  const auto begin = std::chrono::steady_clock::now();
  const TrainingEnd end = trainer.run();
  tracer.finish();
  fmt::print("Total time: {:.1f} s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return end_code(end, interrupt);
}

int run(const Options& given) {
  Options options = given;
  if (options.flag("quiet")) be_quiet();
  check_options(options);
  const Model model = Model::load(options.positional().front());
  Training training = set_up(options, model);
  const int64_t updates = training.train ? updates_per_epoch(options, *training.train) : 1;
  const int64_t global_batch = options.integer("batch-size", 1) * options.integer("accumulate", 1);
  const Schedule rates = schedule(options, updates, updates * options.integer("epochs", 1), global_batch);
  say_decisions(options, training.session, rates);
  if (options.flag("dry-run")) return 0;

  training.folder->write_config(options.resolved_json());
  const std::string source = training.folder->file("source.onnx");
  if (!std::filesystem::exists(source)) model.save(source);
  const std::atomic<int>& interrupt = catch_interrupts();
  ProgressBar bar;
  StepTracer tracer(options, *training.session.replicas);
  Trainer trainer(*training.session.replicas, *training.train, training.test.get(),
                  trainer_options(options, training, rates), trainer_events(training, bar, tracer), &interrupt);
  return train(training, trainer, tracer, options, interrupt);
}

}  // namespace

Command train_command() {
  return {{.name = "train",
           .summary = "train a model on one or several replicas",
           .positional = "M.onnx",
           .min_positional = 1,
           .max_positional = 1,
           .options = train_options()},
          run};
}

}  // namespace onward::cli
