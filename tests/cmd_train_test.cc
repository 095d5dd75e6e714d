// What `onward train` says and refuses before the first step.
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/build_model.h"
#include "runtime/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/onnx_text.h"
#include "tests/support/run_command.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

using testing::HasSubstr;

class CmdTrain : public testing::Test {
 protected:
  CmdTrain() { build_model({.name = "lenet"}).save(folder_.file("m.onnx")); }

  // What the command prints to standard error.
  std::string decisions(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {folder_.file("m.onnx"), "--dry-run"});
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_command("train", arguments).code, 0);
    return testing::internal::GetCapturedStderr();
  }
  void refuse(const std::string& option, const std::string& value, const std::string& part) {
    expect_error(ErrorKind::kUsage, part, [&] {
      run_command("train", {folder_.file("m.onnx"), "--dry-run", option, value});
    });
  }

  TemporaryFolder folder_;
};

TEST_F(CmdTrain, NumbersBeyondReasonAreRefusedWithTheRange) {
  refuse("--warmup-epochs", "1e300", "at most 1000000000, found '1e300'");
  refuse("--lr", "1e39", "at most 1e+38");
  refuse("--bucket-mib", "1e300", "at most 1000000000");
  refuse("--epochs", "9000000000000000000", "from 1 to 1000000000");
  refuse("--step-epochs", "9000000000000000000", "from 1 to 1000000000");
}

TEST_F(CmdTrain, MistakesComeWithTheNearestWord) {
  refuse("--no-decay", "norm,bais", "did you mean bias?");
  refuse("--augment", "hflip,vfilp", "did you mean vflip?");
  refuse("--augment", "crpo:4", "did you mean crop:4?");
  refuse("--normalize", "cifar-10", "did you mean cifar10?");
  refuse("--normalize", "mnits", "did you mean mnist?");
  refuse("--devices", "gpu:2", "did you mean cpu?");
  refuse("--dataset", "cifra10", "did you mean cifar10?");
}

TEST_F(CmdTrain, TheLearningRateIsSaidWithItsOrigin) {
  EXPECT_THAT(decisions({"--lr", "0.5"}), HasSubstr("optimizer: adam, learning rate 0.5, constant\n"));
  EXPECT_THAT(
      decisions({"--lr", "0.01", "--lr-scale", "linear", "--base-batch-size", "64", "--batch-size", "128",
                 "--accumulate", "2", "--schedule", "cosine", "--epochs", "7", "--warmup-epochs", "0.5"}),
      HasSubstr("learning rate 0.04 (--lr 0.01 times 256/64), cosine to 0 over 7 epochs, warm-up over the first "
                "0.5\n"));
  EXPECT_THAT(decisions({"--lr", "0.02", "--lr-scale", "sqrt", "--base-batch-size", "32", "--schedule", "step"}),
              HasSubstr("learning rate 0.04 (--lr 0.02 times the root of 128/32), times 0.1 every 30 epochs\n"));
}

TEST_F(CmdTrain, AnInputThatIsNoFloatIsNamed) {
  const auto refuse_type = [&](int type, const std::string& part) {
    const std::string dims = "dim { dim_param: 'N' } dim { dim_value: 16 }";
    folder_.write(
        "cast.onnx",
        graph_bytes("input { name: 'x' type { tensor_type { elem_type: " + std::to_string(type) + " shape { " + dims +
                    " } } } } output { name: 'y' type { tensor_type { elem_type: 1 shape { " + dims +
                    " } } } } initializer { name: 'w' data_type: 1 float_data: 1 } "
                    "node { op_type: 'Cast' input: 'x' output: 'f' attribute { name: 'to' type: INT i: 1 } } "
                    "node { op_type: 'Mul' input: 'f' input: 'w' output: 'y' }"));
    expect_error(ErrorKind::kModel, part, [&] { run_command("train", {folder_.file("cast.onnx"), "--dry-run"}); });
  };
  refuse_type(2, "expected float32 images for the input 'x' of the model");
  refuse_type(8, "expected numbers for the input 'x' of the model, found string[N,16]");
  refuse_type(17, "found type 17[N,16]");
}

// Scores so far apart that the loss of nearly every label leaves the range of fp32.
TEST_F(CmdTrain, AnEpochOfSkippedStepsHasNoLoss) {
  const Model lenet = Model::load(folder_.file("m.onnx"));
  ModelEdits edits;
  std::vector<float> bias(10, -3e38f);
  bias[0] = 3e38f;
  edits.tensors["fc3.bias"] = HostTensor::from<float>({10}, bias);
  lenet.edited(edits).save(folder_.file("m.onnx"));
  const auto result = run_command("train", {folder_.file("m.onnx"), "--data", "synthetic:64,8", "--batch-size", "32",
                                            "--epochs", "1", "--out", folder_.file("run"), "--on-nan", "skip"});
  EXPECT_THAT(result.output, HasSubstr("Epoch 1, Loss nan, "));
}

TEST_F(CmdTrain, TiedTensorsAreKeptOneOnRequest) {
  Graph graph = build_model({.name = "lenet"}).graph();
  const HostTensor zeros(DType::kFloat32, {84});
  graph.find_value("fc2.bias")->data = zeros;
  Value& fc2 = *graph.find_value("fc2");
  Node& again =
      graph.add_node({"", "Add"}, {&fc2, graph.find_value("fc2.bias")}, {"again"}, {}, fc2.uses().front().node);
  graph.set_input(*fc2.uses().front().node, 0, again.output(0));
  Model::from_graph(graph).save(folder_.file("m.onnx"));
  EXPECT_THAT(decisions({}), HasSubstr("trained apart: 'fc2.bias' as 2; --keep-tied"));
  EXPECT_THAT(decisions({"--keep-tied"}),
              testing::AllOf(testing::Not(HasSubstr("apart")), HasSubstr("'fc2.bias' is read by 2 nodes")));
}

TEST_F(CmdTrain, AutotuneIsMeasuredOnceAndReplayed) {
  build_model({.name = "resnet8", .input = {3, 16, 16}}).save(folder_.file("m.onnx"));
  const std::string out = folder_.file("run");
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {folder_.file("m.onnx"), "--data", "synthetic:8,4", "--batch-size", "4", "--out", out, "--quiet"});
    EXPECT_EQ(run_command("train", more).code, 0);
    std::ifstream config(out + "/config.json");
    return nlohmann::json::parse(config).at("autotune").get<std::string>();
  };
  const std::string choice = train({"--epochs", "1", "--autotune"});
  EXPECT_NE(choice, "measure");
  EXPECT_EQ(load_checkpoint(out + "/last.safetensors").metadata.at("config").find("measure"), std::string::npos);
  EXPECT_EQ(train({"--epochs", "2", "--resume", "auto", "--autotune"}), choice);
  EXPECT_EQ(train({"--epochs", "3", "--resume", "auto", "--config", out + "/config.json"}), choice);
  refuse("--autotune", "mesure", "did you mean measure?");
  refuse("--autotune", "Conv:1x2x2:3x1x3x3,Conv:1x4x4:3x1x3x3", "found 'Conv:1x2x2:3x1x3x3,Conv:1x4x4:3x1x3x3'");
  expect_error(ErrorKind::kUsage, "found both", [&] {
    run_command("train", {folder_.file("m.onnx"), "--dry-run", "--autotune", "--winograd"});
  });
}

TEST_F(CmdTrain, AResumeSaysWhatDecidesAndNothingElse) {
  const std::string out = folder_.file("run");
  std::vector<std::string> begin = {folder_.file("m.onnx"), "--batch-size", "4", "--out", out, "--quiet"};
  const auto train = [&](const std::string& data, std::vector<std::string> more) {
    more.insert(more.begin(), begin.begin(), begin.end());
    more.insert(more.end(), {"--data", data});
    testing::internal::CaptureStderr();
    try {
      EXPECT_EQ(run_command("train", more).code, 0);
    } catch (...) {
      testing::internal::GetCapturedStderr();
      throw;
    }
    return testing::internal::GetCapturedStderr();
  };
  train("synthetic:8,4", {"--epochs", "1", "--freeze", "*.bias"});
  EXPECT_EQ(
      train("synthetic:8,4", {"--epochs", "2", "--freeze", "*.bias", "--resume", "auto", "--momentum", "0.5", "--init",
                              "kaiming", "--fit", "pad", "--loss", "cross_entropy", "--normalize", "none"}),
      "");
  EXPECT_THAT(
      train("synthetic:8,4", {"--epochs", "3", "--freeze", "*.bias", "--resume", "auto", "--normalize", "mnist"}),
      HasSubstr("--normalize mnist (was none)"));
  // Before data are read.
  expect_error(ErrorKind::kUsage, "found --freeze none (was [\"*.bias\"])", [&] {
    train(folder_.file("no-data"), {"--epochs", "4", "--resume", "auto"});
  });
}

TEST_F(CmdTrain, RowsOfStepsThatAreRunAgainGo) {
  const std::string out = folder_.file("run");
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {folder_.file("m.onnx"), "--data", "synthetic:8,4", "--batch-size", "4", "--out", out,
                               "--quiet", "--epochs", "2", "--keep", "9", "--save-every", "1"});
    EXPECT_EQ(run_command("train", more).code, 0);
    std::ifstream log(out + "/log.jsonl");
    std::vector<std::string> rows;
    for (std::string line; std::getline(log, line);) {
      const nlohmann::json row = nlohmann::json::parse(line);
      rows.push_back(row.at("kind").get<std::string>() + " " + std::to_string(row.at("step").get<int64_t>()));
    }
    return rows;
  };
  const std::vector<std::string> rows = {"step 1", "step 2", "epoch 2", "step 3", "step 4", "epoch 4"};
  EXPECT_EQ(train({}), rows);
  EXPECT_EQ(train({"--resume", out + "/step-00000001.safetensors"}), rows);
}

}  // namespace
}  // namespace onward::test
