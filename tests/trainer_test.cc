#include "runtime/trainer.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "graph/error.h"
#include "graph/scalars.h"
#include "models/build_model.h"
#include "models/network.h"
#include "passes/model_program.h"
#include "runtime/data/synthetic.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_files.h"

namespace onward::test {
namespace {

struct Setting {
  int replicas = 2;
  int64_t batch = 6;
  int64_t train_samples = 10;
  int64_t test_samples = 10;
  int workers = 1;
  bool shuffle = true;
  OptimizerKind optimizer = OptimizerKind::kMomentum;
  DType precision = DType::kFloat32;
  std::size_t wrong_labels = 0;  // of the first test samples
  NonFinite non_finite = NonFinite::kIgnore;
  std::optional<int64_t> bad_training_label, bad_test_label;  // of this sample
  std::optional<BatchNormMode> batch_norm;                    // with it, a network that has BatchNormalization
};

Model normalized_net() {
  Network net("normalized", "", {1, 14, 14}, 3);
  Value* x = &net.input();
  for (const std::string name : {"1", "2"}) {
    x = &net.batch_norm("bn" + name, net.conv("conv" + name, *x, {.channels = 4, .stride = 2}));
    x = &net.relu("relu" + name, *x);
  }
  return Model::from_graph(net.finish(net.linear("fc", net.flatten("flatten", *x), 10)));
}

// A LeNet (or normalized_net) for 14x14 images on generated data, with all that a trainer needs.
class Rig {
 public:
  explicit Rig(const Setting& setting, TrainerOptions options = {}, const std::atomic<int>* interrupt = nullptr)
      : program_(setting.batch_norm ? normalized_net() : build_model({.name = "lenet", .input = {1, 14, 14}}),
                 program_options(setting)),
        replicas_(program_, parse_devices("cpu:" + std::to_string(setting.replicas), setting.replicas), registry()) {
    const SyntheticOptions synthetic{
        .shape = {1, 14, 14}, .train_samples = setting.train_samples, .test_samples = setting.test_samples};
    train_data_ = make_synthetic(synthetic, Split::kTrain);
    test_data_ = make_synthetic(synthetic, Split::kTest);
    for (std::size_t i = 0; i < setting.wrong_labels; ++i) test_data_.labels[i] = (test_data_.labels[i] + 1) % 10;
    if (setting.bad_training_label) train_data_.labels.at(static_cast<std::size_t>(*setting.bad_training_label)) = 99;
    if (setting.bad_test_label) test_data_.labels.at(static_cast<std::size_t>(*setting.bad_test_label)) = 99;
    train_ = loader(train_data_, setting, setting.shuffle);
    test_ = loader(test_data_, setting, false);
    options.inputs = {"input", kLabelInput};
    options.loss = program_.loss().value();
    options.schedule.base = 0.05;
    set_local_state(setting, options);
    for (const int64_t share : {int64_t{1}, setting.batch / setting.replicas})
      replicas_.prepare({ProgramMode::kTrain, share});
    TrainerEvents events;
    events.step = [this](const StepReport& report) {
      steps.push_back(report);
      if (after_step) after_step();
    };
    events.epoch = [this](const EpochReport& report) { epochs.push_back(report); };
    events.warning = [this](const std::string& text) { warnings.push_back(text); };
    trainer_ =
        std::make_unique<Trainer>(replicas_, *train_, test_.get(), std::move(options), std::move(events), interrupt);
  }

  Trainer& trainer() { return *trainer_; }
  ReplicaGroup& replicas() { return replicas_; }
  uint64_t hash() { return replicas_.check_parameters_equal(); }
  Evaluation evaluate_test() { return evaluate(replicas_, *test_, {"input", kLabelInput}, program_.loss().value()); }

  std::vector<StepReport> steps;
  std::vector<EpochReport> epochs;
  std::vector<std::string> warnings;
  std::function<void()> after_step;

 private:
  void set_local_state(const Setting& setting, TrainerOptions& options) {
    const BatchNormMode mode = setting.batch_norm.value_or(BatchNormMode::kSync);
    if (mode == BatchNormMode::kSync) return;
    options.local_state = mode == BatchNormMode::kLocal ? LocalState::kMean : LocalState::kFirst;
    options.local_names = program_.states();
  }

  static ProgramOptions program_options(const Setting& setting) {
    ProgramOptions options;
    options.replicas = setting.replicas;
    options.optimizer = setting.optimizer;
    options.precision = setting.precision;
    options.non_finite = setting.non_finite;
    options.batch_norm = setting.batch_norm.value_or(options.batch_norm);
    return options;
  }

  static std::unique_ptr<Loader> loader(const Dataset& data, const Setting& setting, bool shuffle) {
    const Fit fit = fit_images(data.shape, {1, 14, 14}, FitMode::kNone);
    return std::make_unique<Loader>(
        data, Transform(fit, parse_normalisation("none", data.name)),
        SamplerOptions{.samples = data.count(), .batch_size = setting.batch, .shuffle = shuffle},
        LoaderOptions{.replicas = setting.replicas, .workers = setting.workers, .dtype = setting.precision});
  }

  ModelProgram program_;
  ReplicaGroup replicas_;
  Dataset train_data_, test_data_;
  std::unique_ptr<Loader> train_, test_;
  std::unique_ptr<Trainer> trainer_;
};

TEST(Trainer, A7_TenSamplesOnThreeReplicasAreEachCountedOnce) {
  Rig rig({.replicas = 3, .batch = 6}, {.epochs = 2});
  EXPECT_EQ(rig.trainer().run(), TrainingEnd::kDone);
  ASSERT_EQ(rig.epochs.size(), 2u);
  EXPECT_EQ(rig.epochs[0].test.samples, 10);
  EXPECT_EQ(rig.steps.size(), 4u);
  EXPECT_EQ(rig.steps[0].samples + rig.steps[1].samples, 10);
}

// 61 samples in batches of 20: shares differ by one, and the last batch leaves all replicas but one empty.
TEST(Trainer, A15_APerfectModelReads100PercentOnAnyNumberOfReplicas) {
  Setting setting{.batch = 20, .train_samples = 600, .test_samples = 61, .optimizer = OptimizerKind::kSgd};
  Rig trained(setting, {.epochs = 24});
  trained.trainer().run();
  ASSERT_EQ(trained.epochs.back().test.accuracy, 1.0);
  const Checkpoint perfect = trained.trainer().checkpoint();
  for (setting.replicas = 1; setting.replicas <= 4; ++setting.replicas) {
    for (const std::size_t wrong : {0, 7}) {
      setting.wrong_labels = wrong;
      Rig rig(setting);
      rig.trainer().resume(perfect);
      const Evaluation read = rig.evaluate_test();
      EXPECT_EQ(read.samples, 61) << setting.replicas << " replicas";
      EXPECT_EQ(read.accuracy, static_cast<double>(61 - wrong) / 61) << setting.replicas << " replicas";
    }
  }
}

TEST(Trainer, A17_ReplicasStayEqual) {
  Rig rig({.replicas = 2}, {.epochs = 50});
  const uint64_t start = rig.hash();
  EXPECT_EQ(rig.trainer().run(), TrainingEnd::kDone);
  EXPECT_EQ(rig.steps.size(), 100u);
  EXPECT_NE(rig.hash(), start);  // throws if they differ
  rig.replicas().store(1).write("fc3.bias", HostTensor(DType::kFloat32, {10}));
  EXPECT_THROW(rig.hash(), Error);
}

TEST(Trainer, A17_ADifferentStartIsBroadcastAway) {
  Rig rig({.replicas = 2});
  rig.replicas().store(1).write("fc3.bias", HostTensor::from<float>({10}, std::vector<float>(10, 7)));
  rig.replicas().broadcast_state();
  EXPECT_NO_THROW(rig.hash());
}

TEST(Trainer, A9_EveryEpochHasItsOwnOrderAndARerunTheSame) {
  const auto losses = [](int replicas) {
    Rig rig({.replicas = replicas, .batch = 6}, {.epochs = 2});
    rig.trainer().run();
    std::vector<double> list;
    for (const StepReport& step : rig.steps) list.push_back(step.loss);
    return list;
  };
  const std::vector<double> first = losses(2);
  EXPECT_EQ(losses(2), first);
  EXPECT_NEAR(losses(1).front(), first.front(), 1e-5);  // the same samples in the first global step
}

TEST(Trainer, D1_D3_ResumeInTheMiddleOfAnEpochContinuesBitForBit) {
  Rig whole({.batch = 2, .optimizer = OptimizerKind::kAdam}, {.epochs = 3});
  whole.trainer().run();
  Rig first({.batch = 2, .optimizer = OptimizerKind::kAdam}, {.epochs = 3, .max_steps = 7});
  first.trainer().run();
  const Checkpoint checkpoint = first.trainer().checkpoint();
  EXPECT_EQ(checkpoint.position.batch_in_epoch, 2);
  Rig rest({.batch = 2, .optimizer = OptimizerKind::kAdam}, {.epochs = 3});
  rest.trainer().resume(checkpoint);
  rest.trainer().run();
  EXPECT_EQ(rest.hash(), whole.hash());
  EXPECT_EQ(rest.epochs.back().loss, whole.epochs.back().loss);
  EXPECT_EQ(rest.epochs.front().loss, whole.epochs[1].loss);  // of the epoch that was cut in two
}

// Where the first part of a run ends; before the evaluation is that of the last epoch, all of whose steps are done.
enum class Cut : uint8_t { kNone, kInEpoch, kBeforeEvaluation, kAfterEpoch };

// The last checkpoint of three epochs, made in two parts.
std::string last_file(const Setting& setting, TrainerOptions options, Cut cut) {
  const TemporaryFolder folder;
  const std::string last = folder.file("last.safetensors");
  options.folder = folder.path().string();
  if (cut != Cut::kNone) {
    TrainerOptions first = options;
    first.epochs = cut == Cut::kAfterEpoch ? 1 : 3;
    std::atomic<int> interrupt{0};
    Rig rig(setting, first, &interrupt);
    rig.after_step = [&] {
      const StepReport& step = rig.steps.back();
      const bool at_end = step.position.epoch == 2 && step.position.batch_in_epoch == step.steps_per_epoch;
      if (cut == Cut::kInEpoch || (cut == Cut::kBeforeEvaluation && at_end)) interrupt = 2;
    };
    rig.trainer().run();
    const Checkpoint saved = load_checkpoint(last);
    if (setting.batch_norm == BatchNormMode::kLocal) {
      const auto mean = [&](std::size_t r) { return saved.replica_tensors.at(r).at("bn1.running_mean").to_double(); };
      EXPECT_NE(mean(0), mean(1)) << "the statistics of the replicas should differ";
    }
  }
  options.epochs = 3;
  Rig rig(setting, options);
  if (cut != Cut::kNone) rig.trainer().resume(load_checkpoint(last));
  rig.trainer().run();
  return read_text(last);
}

TEST(Trainer, D1_ResumeIsBitExactInEveryBatchNormMode) {
  for (const BatchNormMode mode : {BatchNormMode::kSync, BatchNormMode::kLocal, BatchNormMode::kRank0}) {
    for (const int replicas : {2, 3}) {
      for (const int64_t accumulate : {1, 2}) {
        // 6, 6 and 5 samples: the shares of the last batch differ.
        const Setting setting{.replicas = replicas, .train_samples = 17, .batch_norm = mode};
        TrainerOptions options;
        options.accumulate = accumulate;
        const std::string whole = last_file(setting, options, Cut::kNone);
        for (const Cut cut : {Cut::kInEpoch, Cut::kBeforeEvaluation, Cut::kAfterEpoch}) {
          EXPECT_TRUE(last_file(setting, options, cut) == whole)
              << "mode " << static_cast<int>(mode) << ", " << replicas << " replicas, accumulate " << accumulate
              << ", cut " << static_cast<int>(cut);
        }
      }
    }
  }
}

TEST(Trainer, A10_AccumulatedBatchesEqualOneLargeBatch) {
  const Setting small{.batch = 4, .train_samples = 8, .shuffle = false, .precision = DType::kFloat64};
  Setting large = small;
  large.batch = 8;
  Rig parts(small, {.epochs = 3, .accumulate = 2}), whole(large, {.epochs = 3});
  parts.trainer().run();
  whole.trainer().run();
  ASSERT_EQ(parts.steps.size(), whole.steps.size());
  for (std::size_t i = 0; i < parts.steps.size(); ++i) EXPECT_NEAR(parts.steps[i].loss, whole.steps[i].loss, 1e-12);
}

TEST(Trainer, ResumeNamesWhatIsMissing) {
  Rig sgd({.optimizer = OptimizerKind::kSgd}), adam({.optimizer = OptimizerKind::kAdam});
  const Checkpoint checkpoint = sgd.trainer().checkpoint();
  try {
    adam.trainer().resume(checkpoint);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_THAT(error.what(), testing::HasSubstr(".adam_m"));
  }
}

TEST(Trainer, AnInterruptionSavesAtTheNextStep) {
  const TemporaryFolder folder;
  std::atomic<int> interrupt{2};
  TrainerOptions options;
  options.epochs = 5;
  options.folder = folder.path().string();
  Rig rig({}, options, &interrupt);
  EXPECT_EQ(rig.trainer().run(), TrainingEnd::kInterrupted);
  EXPECT_EQ(rig.steps.size(), 1u);
  EXPECT_EQ(load_checkpoint(folder.file("last.safetensors")).position.step, 1);
}

// ---- values that are not finite

TEST(Trainer, ANonFiniteLossStopsTheRun) {
  Rig rig({});
  HostTensor bias(DType::kFloat32, {10});
  bias.edit_values<float>()[0] = -std::numeric_limits<float>::quiet_NaN();
  rig.replicas().write_all("fc3.bias", bias);
  expect_error(ErrorKind::kRun,
               "the loss is nan at step 1 (epoch 1, learning rate 0.05); no checkpoint was written yet. Try",
               [&] { rig.trainer().run(); });
}

void fill(Rig& rig, const std::string& name, const Shape& shape, std::size_t count, float value) {
  HostTensor tensor(DType::kFloat32, shape);
  std::fill_n(tensor.edit_values<float>().begin(), count, value);
  rig.replicas().write_all(name, tensor);
}

// The scores are of the order of 500, but what fc2 outputs is so small, and what fc3 makes of it so steep, that the
// gradient of fc2 leaves the range of fp32.
void make_gradient_overflow(Rig& rig) {
  fill(rig, "fc1.bias", {120}, 120, 1000);
  fill(rig, "fc2.weight", {84, 120}, 0, 0);
  fill(rig, "fc2.bias", {84}, 84, 2e-38f);
  fill(rig, "fc3.weight", {10, 84}, 84, 3e38f);
}

TrainerOptions saving_in(const TemporaryFolder& folder) {
  TrainerOptions options;
  options.folder = folder.path().string();
  return options;
}

TEST(Trainer, ANonFiniteGradientStopsTheRunBeforeItsStateCanBeSaved) {
  const TemporaryFolder folder;
  TrainerOptions options = saving_in(folder);
  options.save_every = 1;
  Rig rig({.non_finite = NonFinite::kReport}, options);
  make_gradient_overflow(rig);
  expect_error(ErrorKind::kRun, "the gradient is not finite at step 1 (epoch 1, learning rate 0.05); no checkpoint",
               [&] { rig.trainer().run(); });
  EXPECT_FALSE(std::filesystem::exists(folder.file("last.safetensors")));
  EXPECT_TRUE(rig.steps.empty());
}

TEST(Trainer, TheMessageAboutANonFiniteGradientNamesTheCheckpoint) {
  const TemporaryFolder folder;
  Rig rig({.non_finite = NonFinite::kReport}, saving_in(folder));
  rig.trainer().run();
  Rig next({.non_finite = NonFinite::kReport}, saving_in(folder));
  make_gradient_overflow(next);
  expect_error(ErrorKind::kRun, "the last checkpoint, '" + folder.file("last.safetensors") + "', is from before",
               [&] { next.trainer().run(); });
  EXPECT_EQ(load_checkpoint(folder.file("last.safetensors")).position.step, 2);
}

TEST(Trainer, AnEpochWhoseStepsWereAllSkippedHasNoLoss) {
  TrainerOptions options;
  options.stop_on_nan = false;
  Rig rig({.non_finite = NonFinite::kSkip}, options);
  make_gradient_overflow(rig);
  rig.trainer().run();
  ASSERT_EQ(rig.epochs.size(), 1u);
  EXPECT_EQ(rig.trainer().position().skipped_steps, 2);
  EXPECT_TRUE(std::isnan(rig.epochs[0].loss)) << rig.epochs[0].loss;
}

// ---- a final checkpoint that cannot be written

TEST(Trainer, AFailedFinalSaveSaysWhatThereIs) {
  const TemporaryFolder folder;
  TrainerOptions options;
  options.folder = folder.file("none");
  expect_error(ErrorKind::kRun, "could not be written to '" + options.folder + "'; there is no earlier one",
               [&] { Rig({}, options).trainer().run(); });
  Rig({}, saving_in(folder)).trainer().run();
  const std::string last = folder.file("last.safetensors");
  std::filesystem::create_directory(last + "." + std::to_string(::getpid()) + ".tmp");  // in the way
  expect_error(ErrorKind::kRun, "the one before, '" + last + "', is intact",
               [&] { Rig({}, saving_in(folder)).trainer().run(); });
}

// ---- errors between two updates

TEST(Trainer, ABadLabelInTheMiddleOfAnEpochCostsNoStep) {
  const TemporaryFolder folder;
  Rig rig({.shuffle = false, .bad_training_label = 8}, saving_in(folder));  // in the second batch
  expect_error(ErrorKind::kData, "99", [&] { rig.trainer().run(); });
  const TrainingPosition position = load_checkpoint(folder.file("last.safetensors")).position;
  EXPECT_EQ(position.step, 1);
  EXPECT_EQ(position.batch_in_epoch, 1);
  ASSERT_EQ(rig.warnings.size(), 1u);
  EXPECT_THAT(rig.warnings[0], testing::HasSubstr("step 1 is saved in '" + folder.file("last.safetensors") + "'"));
}

TEST(Trainer, ABadLabelInTheFirstBatchLeavesNoCheckpoint) {
  const TemporaryFolder folder;
  Rig rig({.shuffle = false, .bad_training_label = 0}, saving_in(folder));
  expect_error(ErrorKind::kData, "99", [&] { rig.trainer().run(); });
  EXPECT_FALSE(std::filesystem::exists(folder.file("last.safetensors")));
}

TEST(Trainer, ABadLabelInTheEvaluationCostsNoEpoch) {
  const TemporaryFolder folder;
  Rig rig({.shuffle = false, .bad_test_label = 8}, saving_in(folder));
  expect_error(ErrorKind::kData, "99", [&] { rig.trainer().run(); });
  const Checkpoint saved = load_checkpoint(folder.file("last.safetensors"));
  EXPECT_EQ(saved.position.batch_in_epoch, 2);
  Rig rest({.shuffle = false}, saving_in(folder));
  rest.trainer().resume(saved);
  EXPECT_EQ(rest.trainer().run(), TrainingEnd::kDone);
  EXPECT_TRUE(rest.steps.empty());
  EXPECT_EQ(rest.epochs.size(), 1u);
}

TEST(Trainer, ReplicasThatDifferAreNotSaved) {
  const TemporaryFolder folder;
  Rig rig({}, saving_in(folder));
  rig.after_step = [&] { rig.replicas().store(1).write("fc3.bias", HostTensor(DType::kFloat32, {10})); };
  expect_error(ErrorKind::kRun, "the same parameters on every replica", [&] { rig.trainer().run(); });
  EXPECT_FALSE(std::filesystem::exists(folder.file("last.safetensors")));
}

}  // namespace
}  // namespace onward::test
