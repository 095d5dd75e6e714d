#include "tools/prepare_batches.h"

#include <filesystem>

#include "tests/support/expect_error.h"
#include "tests/support/run_command.h"
#include "tests/support/temporary_folder.h"

namespace onward::cli {
namespace {

using test::expect_error;
using testing::ElementsAre;

auto kind(ProgramMode mode, int64_t rows) { return testing::FieldsAre(mode, rows); }

std::set<BatchKind> kinds(int64_t samples, int64_t batch, int64_t accumulate, int64_t max_steps = 0) {
  return batch_kinds(Sampler({.samples = samples, .batch_size = batch}), accumulate, max_steps);
}

TEST(BatchKinds, TheLastBatchMayBeShort) {
  EXPECT_THAT(kinds(16, 8, 1), ElementsAre(kind(ProgramMode::kTrain, 8)));
  EXPECT_THAT(kinds(17, 8, 1), ElementsAre(kind(ProgramMode::kTrain, 1), kind(ProgramMode::kTrain, 8)));
  EXPECT_THAT(kinds(5, 8, 1), ElementsAre(kind(ProgramMode::kTrain, 5)));
}

TEST(BatchKinds, TheLastUpdateMayHaveFewerBatches) {
  EXPECT_THAT(kinds(32, 8, 3),
              ElementsAre(kind(ProgramMode::kTrain, 8), kind(ProgramMode::kAccumulateFirst, 8),
                          kind(ProgramMode::kAccumulateNext, 8), kind(ProgramMode::kTrainAccumulated, 8)));
  EXPECT_THAT(kinds(25, 8, 2),
              ElementsAre(kind(ProgramMode::kAccumulateFirst, 8), kind(ProgramMode::kTrainAccumulated, 1),
                          kind(ProgramMode::kTrainAccumulated, 8)));
}

TEST(BatchKinds, ARunMayEndBeforeTheLastUpdate) {
  EXPECT_THAT(kinds(17, 8, 1, 2), ElementsAre(kind(ProgramMode::kTrain, 8)));
  EXPECT_THAT(kinds(17, 8, 1, 3), ElementsAre(kind(ProgramMode::kTrain, 1), kind(ProgramMode::kTrain, 8)));
}

// Maps of 1x1 from stage 3 on, so that a share of one sample has one value per channel.
class OneValuePerChannel : public testing::TestWithParam<const char*> {
 protected:
  OneValuePerChannel() {
    test::run_command("model",
                      {"seed-resnet", "--input", "3,4,4", "--stages", "1,1,1,1", "-o", folder_.file("m.onnx")});
  }
  void train(int samples, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{folder_.file("m.onnx"),
                                       "--data",
                                       "synthetic:" + std::to_string(samples) + ",8",
                                       "--batch-size",
                                       "8",
                                       "--epochs",
                                       "1",
                                       "--out",
                                       folder_.file("run"),
                                       "--quiet",
                                       "--threads",
                                       "2",
                                       "--devices",
                                       "cpu:2",
                                       "--bn",
                                       GetParam()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(test::run_command("train", arguments).code, 0);
  }
  // Before anything is trained or written.
  void expect_refused(int samples, const std::vector<std::string>& more = {}) {
    expect_error(ErrorKind::kModel, "expected at least 2 values per channel", [&] { train(samples, more); });
    expect_error(ErrorKind::kModel, "--drop-last", [&] { train(samples, more); });
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "run"));
  }

  test::TemporaryFolder folder_;
};

TEST_P(OneValuePerChannel, IsFoundBeforeTheFirstStep) {
  expect_refused(9);
  expect_refused(17, {"--accumulate", "2"});
  expect_refused(25, {"--accumulate", "2"});
}

TEST_P(OneValuePerChannel, IsNoProblemInABatchThatIsLeftOut) { train(9, {"--drop-last"}); }

// Shares of two and one.
TEST_P(OneValuePerChannel, ThreeSamplesAreEnoughForTheWholeBatchOnly) {
  if (std::string(GetParam()) == "sync") return train(11);
  expect_refused(11);
}

INSTANTIATE_TEST_SUITE_P(Modes, OneValuePerChannel, testing::Values("sync", "local", "rank0"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace onward::cli
