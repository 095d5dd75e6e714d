// The program as a user meets it: runs, resumes, interruptions, and one clear message with the documented exit code for
// each kind of bad input.
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/tensors.h"
#include "tests/support/text_files.h"

namespace onward::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

using Arguments = std::vector<std::string>;

Arguments operator+(Arguments left, const Arguments& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// A model made once for all tests.
std::string model(const std::string& name, const Arguments& more = {}) {
  static const std::string folder = fresh_folder("models");
  std::string file = folder + "/" + name;
  for (const std::string& word : more) file += "_" + word;
  file += ".onnx";
  if (!fs::exists(file)) {
    const ProgramResult made = run_program(Arguments{"model", name, "-o", file} + more);
    EXPECT_EQ(made.code, 0) << made.err;
  }
  return file;
}

// A short training on generated data.
Arguments short_training(const std::string& run) {
  return {"train", model("lenet"), "--data", "synthetic:256,64", "--out",        run,           "--batch-size",
          "32",    "--epochs",     "2",      "--augment",        "hflip,crop:2", "--optimizer", "momentum",
          "--lr",  "0.01"};
}

std::vector<std::string> parameter_hashes(const std::string& run) {
  std::vector<std::string> hashes;
  std::istringstream log(read_text(run + "/log.jsonl"));
  for (std::string line; std::getline(log, line);) {
    const nlohmann::json entry = nlohmann::json::parse(line);
    if (entry.at("kind") == "epoch") hashes.push_back(entry.at("parameters_hash"));
  }
  return hashes;
}

void expect_failure(const Arguments& arguments, int code, const std::string& part) {
  const ProgramResult result = run_program(arguments);
  EXPECT_EQ(result.code, code) << result.out << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("error: "), HasSubstr(part)));
}

// ---- the main job

TEST(Train, PrintsOneLinePerEpochAndTheTotalTime) {
  const std::string run = fresh_folder("lines");
  const ProgramResult result = run_program(short_training(run));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              testing::MatchesRegex(
                  "Epoch 1, Loss [0-9]+\\.[0-9]{5}, [0-9]+\\.[0-9]{2} examples/sec, Test Acc [0-9]+\\.[0-9]{2}%\n"
                  "Epoch 2, Loss [0-9]+\\.[0-9]{5}, [0-9]+\\.[0-9]{2} examples/sec, Test Acc [0-9]+\\.[0-9]{2}%\n"
                  "Total time: [0-9]+\\.[0-9] s\n"));
  for (const char* file :
       {"config.json", "log.jsonl", "log.csv", "last.safetensors", "best.safetensors", "source.onnx"}) {
    EXPECT_TRUE(fs::exists(run + "/" + file)) << file;
  }
}

TEST(Train, A19_TheSameCommandGivesTheSameBitsForAnyNumberOfWorkers) {
  std::vector<std::string> first;
  for (const char* workers : {"2", "2", "0", "4"}) {
    const std::string run = fresh_folder("repeat");
    const Arguments more = {"--workers", workers, "--devices", "cpu:2", "--epochs", "3"};
    ASSERT_EQ(run_program(short_training(run) + more).code, 0);
    if (first.empty()) first = parameter_hashes(run);
    EXPECT_EQ(parameter_hashes(run), first) << workers << " workers";
  }
  EXPECT_EQ(first.size(), 3u);
}

TEST(Train, D1_ResumeIsBitExact) {
  const std::string whole = fresh_folder("whole"), parts = fresh_folder("parts");
  const Arguments schedule = {"--schedule", "cosine", "--optimizer", "adam"};
  ASSERT_EQ(run_program(short_training(whole) + schedule).code, 0);
  // 8 steps an epoch: stops within the first and within the second.
  ASSERT_EQ(run_program(short_training(parts) + schedule + Arguments{"--max-steps", "5"}).code, 0);
  ASSERT_EQ(run_program(short_training(parts) + schedule + Arguments{"--max-steps", "11", "--resume", "auto"}).code, 0);
  const ProgramResult rest = run_program(short_training(parts) + schedule + Arguments{"--resume", "auto"});
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(parameter_hashes(parts).back(), parameter_hashes(whole).back());
  const Checkpoint a = load_checkpoint(whole + "/last.safetensors"), b = load_checkpoint(parts + "/last.safetensors");
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, tensor] : a.tensors) EXPECT_TRUE(same_bits(b.tensors.at(name), tensor)) << name;
  EXPECT_EQ(a.position.step, b.position.step);
  EXPECT_EQ(a.position.batch, b.position.batch);
  EXPECT_EQ(a.position.epoch, b.position.epoch);
}

TEST(Train, MeasuredAlgorithmsAreReplayedBitForBit) {
  const std::string whole = fresh_folder("tuned"), parts = fresh_folder("tuned-parts");
  const std::string resnet = model("resnet8", {"--input", "3,16,16"});
  ASSERT_EQ(run_program({"train", resnet, "--data", "synthetic:64,32", "--batch-size", "16", "--epochs", "2", "--out",
                         whole, "--autotune"})
                .code,
            0);
  const Arguments again = {"train", resnet, "--config", whole + "/config.json", "--out", parts};
  ASSERT_EQ(run_program(again + Arguments{"--max-steps", "3"}).code, 0);
  const ProgramResult rest = run_program(again + Arguments{"--resume", "auto", "--autotune"});
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err, testing::Not(HasSubstr("warning")));
  EXPECT_EQ(parameter_hashes(parts).back(), parameter_hashes(whole).back());
}

TEST(Train, AResumeWithOtherOptionsSaysSoOrIsRefused) {
  const std::string run = fresh_folder("resumed-otherwise");
  ASSERT_EQ(run_program(short_training(run) + Arguments{"--max-steps", "5"}).code, 0);
  const Arguments resume = short_training(run) + Arguments{"--resume", "auto"};
  expect_failure(resume + Arguments{"--optimizer", "adam"}, 2, "expected --optimizer momentum");
  expect_failure(resume + Arguments{"--batch-size", "16"}, 2, "--batch-size 16 (was 32)");
  expect_failure(resume + Arguments{"--accumulate", "2"}, 2, "middle of an epoch");
  expect_failure(
      {"train", model("resnet8", {"--input", "1,28,28"}), "--config", run + "/config.json", "--resume", "auto"}, 2,
      "expected the model");
  const ProgramResult faster = run_program(resume + Arguments{"--lr", "0.02", "--workers", "0"});
  EXPECT_EQ(faster.code, 0);
  EXPECT_THAT(faster.err, AllOf(HasSubstr("warning: "), HasSubstr("--lr 0.02 (was 0.01)\n")));
}

TEST(Train, D2_KilledWhileSavingLeavesALoadableCheckpoint) {
  for (const int lines : {3, 4, 6, 9}) {
    const std::string run = fresh_folder("killed");
    const Arguments saving = {"--epochs", "50", "--save-every", "1"};
    const ProgramResult killed = interrupt_program(short_training(run) + saving, run + "/log.jsonl", lines, SIGKILL);
    EXPECT_EQ(killed.code, 128 + SIGKILL);
    EXPECT_GE(load_checkpoint(run + "/last.safetensors").position.step, 1);
    EXPECT_EQ(run_program({"eval", run, "--data", "synthetic:256,64"}).code, 0);
  }
}

TEST(Train, TheSeedsRecipeIsAConfiguration) {
  const ProgramResult result =
      run_program({"train", model("seed-resnet"), "--config", source_dir() + "/configs/seed-recipe.json", "--dry-run"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("batch: 256 in all"));
}

TEST(Train, ARunIsEvaluatedWithItsOwnNormalisation) {
  const std::string run = fresh_folder("own-normalisation");
  const ProgramResult trained = run_program(short_training(run) + Arguments{"--normalize", "none"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const ProgramResult evaluated = run_program({"eval", run, "--data", "synthetic:256,64"});
  const std::string last = trained.out.substr(trained.out.find("Epoch 2"));
  const std::string accuracy = last.substr(last.find("Test Acc"), std::string("Test Acc 00.00%").size());
  EXPECT_THAT(evaluated.out, HasSubstr(accuracy));
}

TEST(Train, A16_TheSplitOfABatchIsPrinted) {
  const ProgramResult result =
      run_program({"train", model("lenet"), "--dry-run", "--batch-size", "100", "--devices", "cpu:3"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("batch: 100 in all, 34/33/33 per replica"));
}

TEST(Train, AnInterruptionSavesAndASecondRunContinuesBitForBit) {
  const std::string whole = fresh_folder("uninterrupted"), cut = fresh_folder("interrupted");
  const Arguments longer = {"--epochs", "40"};
  ASSERT_EQ(run_program(short_training(whole) + longer).code, 0);
  const ProgramResult stopped = interrupt_program(short_training(cut) + longer, cut + "/log.jsonl", 3, SIGINT);
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("--resume auto"));
  const ProgramResult rest = run_program(short_training(cut) + longer + Arguments{"--resume", "auto"});
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(parameter_hashes(cut).back(), parameter_hashes(whole).back());
}

TEST(Train, TerminationEndsWith143AfterACheckpoint) {
  const std::string run = fresh_folder("terminated");
  const ProgramResult stopped =
      interrupt_program(short_training(run) + Arguments{"--epochs", "50"}, run + "/log.jsonl", 2, SIGTERM);
  EXPECT_EQ(stopped.code, 143) << stopped.err;
  EXPECT_TRUE(fs::exists(run + "/last.safetensors"));
}

TEST(Train, A15_EveryReplicaCountReadsTheSameAccuracy) {
  const std::string run = fresh_folder("accuracy");
  ASSERT_EQ(run_program(short_training(run)).code, 0);
  std::string first;
  for (const char* devices : {"cpu:1", "cpu:2", "cpu:3", "cpu:4"}) {
    const ProgramResult result =
        run_program({"eval", run, "--data", "synthetic:256,61", "--batch-size", "16", "--json", "--devices", devices});
    ASSERT_EQ(result.code, 0) << result.err;
    const nlohmann::json figures = nlohmann::json::parse(result.out);
    EXPECT_EQ(figures.at("samples"), 61);
    if (first.empty()) first = figures.at("accuracy").dump();
    EXPECT_EQ(figures.at("accuracy").dump(), first) << devices;
  }
}

TEST(Export, KeepsNamesAndEvaluatesLikeTheRun) {
  const std::string run = fresh_folder("exported");
  ASSERT_EQ(run_program({"train", model("resnet8"), "--data", "synthetic:128,32", "--out", run, "--batch-size", "32",
                         "--epochs", "1"})
                .code,
            0);
  const auto evaluate = [&](const std::string& what) {
    const ProgramResult result = run_program({"eval", what, "--data", "synthetic:128,32", "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    return nlohmann::json::parse(result.out);
  };
  const nlohmann::json of_run = evaluate(run);
  ASSERT_EQ(run_program({"export", run, "-o", run + "/trained.onnx"}).code, 0);
  EXPECT_EQ(evaluate(run + "/trained.onnx"), of_run);
  ASSERT_EQ(run_program({"export", run, "-o", run + "/folded.onnx", "--fold-batch-norm"}).code, 0);
  EXPECT_NEAR(evaluate(run + "/folded.onnx").at("loss").get<double>(), of_run.at("loss").get<double>(), 1e-4);
  EXPECT_EQ(run_program({"export", run, "-o", run + "/graph.onnx", "--training-graph"}).code, 0);
}

TEST(Inspect, A13_AnEvaluationProgramHasNoCollective) {
  const ProgramResult plain = run_program({"inspect", model("resnet8"), "--format", "json", "--devices", "cpu:2"});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(nlohmann::json::parse(plain.out).at("collectives").size(), 0u);
  const ProgramResult training =
      run_program({"inspect", model("resnet8"), "--training", "--format", "json", "--devices", "cpu:2"});
  ASSERT_EQ(training.code, 0) << training.err;
  EXPECT_GT(nlohmann::json::parse(training.out).at("collectives").size(), 0u);
  EXPECT_EQ(nlohmann::json::parse(training.out).at("synchronised_batch_normalizations").size(), 9u);
}

TEST(Inspect, B1_ListsParametersAndStateApart) {
  const ProgramResult result = run_program({"inspect", model("resnet8"), "--format", "json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json json = nlohmann::json::parse(result.out);
  for (const auto& entry : json.at("parameters"))
    EXPECT_THAT(entry.at("name").get<std::string>(), testing::Not(HasSubstr("running")));
  for (const auto& entry : json.at("state")) EXPECT_THAT(entry.at("name").get<std::string>(), HasSubstr("running"));
  EXPECT_FALSE(json.at("state").empty());
}

// ---- bad input

TEST(BadInput, Models) {
  const std::string folder = fresh_folder("bad-models"), out = folder + "/run";
  const auto train = [&](const std::string& file) {
    return Arguments{"train", file, "--data", "synthetic", "--out", out};
  };
  expect_failure(train(folder + "/none.onnx"), 4, "none.onnx");
  write_text(folder + "/text.onnx", "this is not a model\n");
  expect_failure(train(folder + "/text.onnx"), 4, "text.onnx");
  const std::string whole = read_text(model("lenet"));
  write_text(folder + "/cut.onnx", whole.substr(0, whole.size() / 2));
  expect_failure(train(folder + "/cut.onnx"), 4, "cut.onnx");
  write_text(folder + "/empty.onnx", "");
  expect_failure(train(folder + "/empty.onnx"), 4, "empty.onnx");
  EXPECT_FALSE(fs::exists(out)) << "a run was begun";
}

TEST(BadInput, DataFoldersAndFiles) {
  const std::string folder = fresh_folder("bad-data");
  const auto train = [&](const std::string& data) {
    return Arguments{"train", model("lenet"), "--data", data, "--out", folder + "/run"};
  };
  expect_failure(train(folder + "/none"), 3, "none");
  fs::create_directories(folder + "/wrong");
  write_text(folder + "/wrong/readme.txt", "nothing here");
  expect_failure(train(folder + "/wrong"), 3, "wrong");
  fs::create_directories(folder + "/short");
  for (int part = 1; part <= 5; ++part)
    write_text(folder + "/short/data_batch_" + std::to_string(part) + ".bin", std::string(3073, '\1'));
  write_text(folder + "/short/test_batch.bin", std::string(3073, '\1'));
  expect_failure(train(folder + "/short"), 3, "30730000");
}

TEST(BadInput, ShapesAndClasses) {
  const std::string out = fresh_folder("bad-shapes") + "/run";
  expect_failure({"train", model("resnet8", {"--input", "1,28,28"}), "--data", "/usr/share/datasets/fashion-mnist",
                  "--out", out, "--batch-size", "0"},
                 2, "--batch-size");
  if (fs::exists("/usr/share/datasets/fashion-mnist")) {
    expect_failure({"train", model("resnet8"), "--data", "/usr/share/datasets/fashion-mnist", "--out", out}, 3,
                   "--fit pad");
    expect_failure({"train", model("resnet8", {"--classes", "5"}), "--data", "/usr/share/datasets/fashion-mnist",
                    "--fit", "pad", "--out", out},
                   3, "--classes 10");
  }
}

TEST(BadInput, Options) {
  const std::string out = fresh_folder("bad-options") + "/run";
  const Arguments good = {"train", model("lenet"), "--data", "synthetic", "--out", out};
  expect_failure(good + Arguments{"--epochs", "0"}, 2, "--epochs");
  expect_failure(good + Arguments{"--lr", "-1"}, 2, "--lr");
  expect_failure(good + Arguments{"--batch-size", "-4"}, 2, "--batch-size");
  expect_failure(good + Arguments{"--keep", "-1"}, 2, "--keep");
  expect_failure(good + Arguments{"--resume", "none.safetensors"}, 3, "none.safetensors");
  expect_failure(good + Arguments{"--resume", testing::TempDir()}, 3, "folder");
  expect_failure(good + Arguments{"--batch-size", "1", "--devices", "cpu:2"}, 2, "--batch-size");
  expect_failure(good + Arguments{"--optimiser", "adam"}, 2, "did you mean --optimizer?");
  expect_failure(good + Arguments{"--optimizer", "adma"}, 2, "did you mean adam?");
  expect_failure(good + Arguments{"--freeze", "no-such-*"}, 2, "no-such-*");
  expect_failure(good + Arguments{"--devices", "gpu"}, 2, "--devices");
  expect_failure(good + Arguments{"--devices", "cuda"}, 5, "cuda");
  expect_failure({"train", model("lenet"), "--data", "synthetic"}, 2, "--out");
  expect_failure({"trian"}, 2, "did you mean train?");
  EXPECT_FALSE(fs::exists(out));
}

TEST(BadInput, OutputFolderThatCannotBeWritten) {
  const std::string folder = fresh_folder("bad-out");
  write_text(folder + "/file", "x");
  expect_failure({"train", model("lenet"), "--data", "synthetic", "--out", folder + "/file"}, 2, "--out");
  expect_failure({"train", model("lenet"), "--data", "synthetic", "--out", folder + "/file/run"}, 2,
                 "cannot be written");
}

TEST(BadInput, AFailedSaveWarnsAndAFailedFinalSaveEndsWithOne) {
  const std::string run = fresh_folder("no-save");
  fs::create_directories(run + "/last.safetensors/in-the-way");
  const ProgramResult result = run_program(short_training(run) + Arguments{"--resume", run + "/last.safetensors"});
  EXPECT_NE(result.code, 0);
  const std::string other = fresh_folder("no-save-2");
  const ProgramResult blocked = run_program(short_training(other) + Arguments{"--resume", "auto", "--save-every", "4"});
  ASSERT_EQ(blocked.code, 0) << blocked.err;
  fs::remove(other + "/last.safetensors");
  fs::create_directories(other + "/last.safetensors/in-the-way");
  const std::string third = fresh_folder("no-save-3");
  fs::copy(other, third, fs::copy_options::recursive);
  const ProgramResult failed =
      run_program(short_training(third) + Arguments{"--resume", other + "/best.safetensors", "--epochs", "3"});
  EXPECT_EQ(failed.code, 1) << failed.out << failed.err;
  EXPECT_THAT(failed.err, AllOf(HasSubstr("warning: "), HasSubstr("was not saved"), HasSubstr("final checkpoint")));
  EXPECT_THAT(failed.out, HasSubstr("Epoch 3"));
}

TEST(BadInput, D2_ADamagedCheckpointIsRefused) {
  const std::string run = fresh_folder("damaged");
  ASSERT_EQ(run_program(short_training(run)).code, 0);
  std::string content = read_text(run + "/last.safetensors");
  content[content.size() / 2] ^= 1;
  write_text(run + "/last.safetensors", content);
  expect_failure({"eval", run, "--data", "synthetic:64,64"}, 3, "checksum");
  expect_failure({"export", run, "-o", run + "/x.onnx"}, 3, "checksum");
  EXPECT_FALSE(fs::exists(run + "/x.onnx"));
}

TEST(BadInput, ANonFiniteLossStopsOrIsSkippedByAllReplicas) {
  const std::string run = fresh_folder("nan");
  const Arguments hot = {"--lr", "1e30", "--optimizer", "sgd", "--devices", "cpu:2"};
  const ProgramResult stopped = run_program(short_training(run) + hot);
  EXPECT_EQ(stopped.code, 1) << stopped.err;
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("the loss is nan"), HasSubstr("no checkpoint was written yet"),
                                 HasSubstr("--on-nan skip")));
  const std::string other = fresh_folder("nan-skip");
  const ProgramResult skipped = run_program(short_training(other) + hot + Arguments{"--on-nan", "skip"});
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_THAT(skipped.err, HasSubstr("was skipped"));
}

TEST(BadInput, A3_OneValuePerChannelInTheWholeBatch) {
  // 9 samples in batches of 8 leave one, whose maps are 1x1 from stage 3 on.
  const std::string run = fresh_folder("one-value");
  const ProgramResult result = run_program({"train", model("seed-resnet", {"--input", "3,4,4"}), "--data",
                                            "synthetic:9,8", "--out", run, "--batch-size", "8", "--epochs", "1"});
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--drop-last"));
}

}  // namespace
}  // namespace onward::test
