#include "tools/run_folder.h"

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/error.h"
#include "runtime/checkpoint_folder.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_files.h"

namespace onward::cli {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::HasSubstr;

void touch(const std::string& path) { test::write_text(path, "x"); }

template <typename Call>
Error failure(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::kRun, "no error");
}

TEST(RunFolder, AFolderWithFilesNeedsResume) {
  const TemporaryFolder temporary;
  const std::string path = temporary.file("run-full");
  RunFolder::create(path, false);
  touch(path + "/something");
  const Error error = failure([&] { RunFolder::create(path, false); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_THAT(error.what(), HasSubstr("--resume auto"));
  EXPECT_NO_THROW(RunFolder::create(path, true));
}

TEST(RunFolder, AFileInItsPlaceOrAboveItIsAUsageError) {
  const TemporaryFolder temporary;
  const std::string path = temporary.file("run-file");
  touch(path);
  EXPECT_EQ(failure([&] { RunFolder::create(path, false); }).kind(), ErrorKind::kUsage);
  const Error error = failure([&] { RunFolder::create(path + "/below", false); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_THAT(error.what(), HasSubstr("cannot be written"));
}

TEST(RunFolder, LogsOneJsonObjectALineAndATable) {
  const TemporaryFolder temporary;
  RunFolder folder = RunFolder::create(temporary.file("run-log"), false);
  EXPECT_EQ(folder.log(StepReport{.loss = 0.5, .samples = 8}), "");
  EXPECT_EQ(folder.log(EpochReport{.epoch = 1, .loss = 0.25, .parameters_hash = 255}), "");
  std::istringstream log(test::read_text(folder.file("log.jsonl")));
  std::string line;
  std::getline(log, line);
  EXPECT_EQ(nlohmann::json::parse(line).at("loss"), 0.5);
  std::getline(log, line);
  EXPECT_EQ(nlohmann::json::parse(line).at("parameters_hash"), "00000000000000ff");
  std::istringstream table(test::read_text(folder.file("log.csv")));
  std::getline(table, line);
  EXPECT_THAT(line, HasSubstr("epoch,step,loss"));
  std::getline(table, line);
  EXPECT_EQ(line.rfind("1,0,0.25", 0), 0u);
}

TEST(RunFolder, ALossThatIsNoNumberIsNullAndNan) {
  const TemporaryFolder temporary;
  RunFolder folder = RunFolder::create(temporary.file("run-nan"), false);
  folder.log(EpochReport{.epoch = 1, .loss = std::numeric_limits<double>::quiet_NaN()});
  EXPECT_TRUE(nlohmann::json::parse(test::read_text(folder.file("log.jsonl"))).at("loss").is_null());
  EXPECT_THAT(test::read_text(folder.file("log.csv")), HasSubstr("\n1,0,nan,"));
}

TEST(RunFolder, ARunThatGoesOnFromAnEarlierStepHasOneRowForEach) {
  const TemporaryFolder temporary;
  RunFolder folder = RunFolder::create(temporary.file("run-back"), false);
  const auto run = [&](int64_t from, int64_t to) {  // two steps an epoch
    for (int64_t step = from + 1; step <= to; ++step) {
      folder.log(StepReport{.position = {.step = step, .epoch = (step - 1) / 2}});
      if (step % 2 == 0) folder.log(EpochReport{.epoch = step / 2, .step = step});
    }
  };
  run(0, 6);
  const std::string log = test::read_text(folder.file("log.jsonl")), table = test::read_text(folder.file("log.csv"));
  EXPECT_EQ(folder.rewind({.step = 6, .epoch = 3}), "");
  EXPECT_EQ(test::read_text(folder.file("log.jsonl")), log);
  // In the middle of an epoch, at its end before it was evaluated, and from the start.
  for (const TrainingPosition& position :
       {TrainingPosition{.step = 3, .epoch = 1}, TrainingPosition{.step = 4, .epoch = 1}, TrainingPosition{}}) {
    EXPECT_EQ(folder.rewind(position), "");
    EXPECT_EQ(test::read_text(folder.file("log.csv")),
              table.substr(0, table.find(position.epoch ? "\n2," : "\n1,") + 1));
    if (position.step == 4) folder.log(EpochReport{.epoch = 2, .step = 4});
    run(position.step, 6);
    EXPECT_EQ(test::read_text(folder.file("log.jsonl")), log);
    EXPECT_EQ(test::read_text(folder.file("log.csv")), table);
  }
}

TEST(RunFolder, ALineThatWasCutOffStaysAlone) {
  const TemporaryFolder temporary;
  RunFolder folder = RunFolder::create(temporary.file("run-cut"), false);
  folder.log(EpochReport{.epoch = 1, .step = 1});
  const std::string log = test::read_text(folder.file("log.jsonl")), table = test::read_text(folder.file("log.csv"));
  const auto cut = [&] {
    test::write_text(folder.file("log.jsonl"), log + "{\"kind\":\"ste");
    test::write_text(folder.file("log.csv"), table + "2,1");
  };
  cut();
  EXPECT_EQ(folder.rewind({.step = 9, .epoch = 9}), "");
  EXPECT_EQ(test::read_text(folder.file("log.jsonl")), log);
  EXPECT_EQ(test::read_text(folder.file("log.csv")), table);
  cut();
  folder.log(EpochReport{.epoch = 1, .step = 1});
  EXPECT_EQ(test::read_text(folder.file("log.jsonl")), log + "{\"kind\":\"ste\n" + log);
  // A head that was cut off is written again.
  test::write_text(folder.file("log.csv"), table.substr(0, 9));
  folder.rewind({.step = 9, .epoch = 9});
  folder.log(EpochReport{.epoch = 1, .step = 1});
  EXPECT_EQ(test::read_text(folder.file("log.csv")), table);
}

TEST(RunFolder, ALogThatCannotBeWrittenIsReportedOnce) {
  const TemporaryFolder temporary;
  RunFolder folder = RunFolder::create(temporary.file("run-no-log"), false);
  fs::create_directory(folder.file("log.jsonl"));
  EXPECT_THAT(folder.log(StepReport{}), HasSubstr("cannot be written"));
  EXPECT_EQ(folder.log(StepReport{}), "");
}

TEST(RunFolder, FindsTheFilesOfARunOrACheckpoint) {
  const TemporaryFolder temporary;
  const std::string path = temporary.file("run-find");
  fs::create_directories(path);
  EXPECT_THAT(failure([&] { find_run(path); }).what(), HasSubstr("last.safetensors"));
  for (const char* name : {"last.safetensors", "step-00000007.safetensors", "source.onnx", "config.json"})
    touch(path + "/" + name);
  EXPECT_EQ(find_run(path).checkpoint, path + "/last.safetensors");
  EXPECT_EQ(find_run(path).config, path + "/config.json");
  EXPECT_EQ(find_run(path, "step-00000007.safetensors").checkpoint, path + "/step-00000007.safetensors");
  EXPECT_EQ(find_run(path + "/last.safetensors").source, path + "/source.onnx");
  EXPECT_EQ(failure([&] { find_run(path, "best"); }).kind(), ErrorKind::kData);
  EXPECT_EQ(failure([&] { find_run("nowhere"); }).kind(), ErrorKind::kUsage);
}

TEST(CheckpointFolder, KeepsTheNewestStepsAndTheBest) {
  const TemporaryFolder temporary;
  const std::string path = temporary.file("run-keep");
  fs::create_directories(path);
  for (int64_t step = 1; step <= 4; ++step) {
    Checkpoint checkpoint;
    checkpoint.position.step = step;
    checkpoint.tensors["w"] = HostTensor::scalar<float>(static_cast<float>(step));
    save_to_folder(path, checkpoint, step == 2, 2);
  }
  EXPECT_EQ(load_checkpoint(path + "/last.safetensors").position.step, 4);
  EXPECT_EQ(load_checkpoint(path + "/best.safetensors").position.step, 2);
  EXPECT_FALSE(fs::exists(path + "/step-00000002.safetensors"));
  EXPECT_EQ(load_checkpoint(path + "/step-00000003.safetensors").position.step, 3);
  EXPECT_EQ(std::distance(fs::directory_iterator(path), {}), 4);
}

TEST(CheckpointFolder, AFolderInTheWayOfBestLeavesNoTemporaryFile) {
  const TemporaryFolder temporary;
  const std::string path = temporary.file("run-best-folder");
  fs::create_directories(path + "/best.safetensors/in-the-way");
  Checkpoint checkpoint;
  checkpoint.tensors["w"] = HostTensor::scalar<float>(1);
  EXPECT_EQ(failure([&] { save_to_folder(path, checkpoint, true, 0); }).kind(), ErrorKind::kRun);
  EXPECT_TRUE(fs::exists(path + "/last.safetensors"));
  EXPECT_FALSE(fs::exists(path + "/best.safetensors.tmp"));
}

TEST(RunFolder, ContentTellsModelsFromCheckpoints) {
  const TemporaryFolder temporary;
  const std::string path = temporary.file("run-content");
  fs::create_directories(path);
  save_checkpoint(path + "/a.bin", Checkpoint{});
  save_checkpoint(path + "/b.onnx", Checkpoint{});
  touch(path + "/c.model");
  touch(path + "/d.safetensors");
  EXPECT_FALSE(names_model(path + "/a.bin"));
  EXPECT_FALSE(names_model(path + "/b.onnx"));
  EXPECT_TRUE(names_model(path + "/c.model"));
  EXPECT_FALSE(names_model(path + "/d.safetensors"));  // a damaged checkpoint
  EXPECT_FALSE(names_model(path));
  EXPECT_TRUE(names_model(path + "/none.onnx"));
  EXPECT_FALSE(names_model(path + "/none"));
  touch(path + "/source.onnx");
  EXPECT_EQ(find_run(path + "/a.bin").checkpoint, path + "/a.bin");
}

}  // namespace
}  // namespace onward::cli
