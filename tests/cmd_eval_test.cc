#include "graph/tensor_file.h"
#include "models/build_model.h"
#include "tests/support/expect_error.h"
#include "tests/support/onnx_text.h"
#include "tests/support/run_command.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

using testing::HasSubstr;

class CmdEval : public testing::Test {
 protected:
  CmdEval() { build_model({.name = "lenet"}).save(model_); }

  CommandResult evaluate(const std::string& model, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {model, "--data", "synthetic:8,8", "--batch-size", "4"});
    return run_command("eval", more);
  }

  TemporaryFolder folder_;
  std::string model_ = folder_.file("m.onnx");
};

TEST_F(CmdEval, AModelMayHaveAnyName) {
  const std::string expected = evaluate(model_).output;
  for (const char* name : {"model.pb", "model", "model.onnx.bak"}) {
    std::filesystem::copy_file(model_, folder_.file(name));
    EXPECT_EQ(evaluate(folder_.file(name)).output, expected) << name;
  }
  folder_.write("text.txt", "neither");
  expect_error(ErrorKind::kModel, "text.txt", [&] { evaluate(folder_.file("text.txt")); });
}

TEST_F(CmdEval, WritesScores) {
  evaluate(model_, {"--logits", folder_.file("scores.npy")});
  EXPECT_EQ(read_tensor_file(folder_.file("scores.npy")).shape(), (Shape{8, 10}));
}

// The scores of a file with an image input 'x', [N,1,4,4], a parameter 'w', and what `rest` makes of them.
class CmdEvalScores : public CmdEval {
 protected:
  HostTensor scores(const std::string& rest, const std::vector<std::string>& more = {}) {
    const std::string dims = "dim { dim_param: 'N' } dim { dim_value: 1 } dim { dim_value: 4 } dim { dim_value: 4 }";
    folder_.write("m.onnx", graph_bytes("input { name: 'x' type { tensor_type { elem_type: 1 shape { " + dims +
                                        " } } } } " + rest));
    std::vector<std::string> arguments = {"--logits", folder_.file("scores.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(evaluate(model_, arguments).code, 0);
    return read_tensor_file(folder_.file("scores.npy"));
  }
  static std::string output(const std::string& name, const std::string& dims) {
    return "output { name: '" + name + "' type { tensor_type { elem_type: 1 shape { " + dims + " } } } } ";
  }
  const std::string kRows = "dim { dim_param: 'N' } ", kClasses = "dim { dim_value: 16 } ";
  const std::string kLogits =
      "initializer { name: 'w' data_type: 1 dims: 1 float_data: 0.5 } node { op_type: 'Flatten' input: 'x' output: 'f' "
      "} "
      "node { op_type: 'Mul' input: 'f' input: 'w' output: 'z' } ";
};

TEST_F(CmdEvalScores, LogitsInsideTheModelAreThoseOfAModelThatEndsInThem) {
  const std::string whole = output("z", kRows + kClasses);
  const HostTensor expected = scores(whole + kLogits);
  ASSERT_EQ(expected.shape(), (Shape{8, 16}));
  const std::string probabilities = output("p", kRows + kClasses);
  const auto expect_same = [&](const std::string& rest, const std::vector<std::string>& more = {}) {
    const HostTensor found = scores(rest, more);
    ASSERT_EQ(found.shape(), expected.shape());
    EXPECT_EQ(found.to_double(), expected.to_double());
  };
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    const std::string ending = std::string("node { op_type: '") + op + "' input: 'z' output: 'p' }";
    expect_same(probabilities + kLogits + ending);
    expect_same(probabilities + kLogits + ending, {"--devices", "cpu:3"});
    // The second batch leaves one replica without rows.
    expect_same(probabilities + kLogits + ending, {"--devices", "cpu:3", "--batch-size", "6"});
  }
  const std::string loss = "input { name: 'target' type { tensor_type { elem_type: 7 shape { " + kRows + "} } } } " +
                           output("loss", "") + kLogits +
                           "node { op_type: 'SoftmaxCrossEntropyLoss' input: 'z' input: 'target' output: 'loss' }";
  expect_same(loss);
}

TEST_F(CmdEvalScores, TrailingDimensionsOfOneAreDropped) {
  const std::string ending =
      output("y", kRows + "dim { dim_value: 2 } dim { dim_value: 1 } dim { dim_value: 1 }") +
      "initializer { name: 'w' data_type: 1 dims: 2 dims: 1 dims: 1 dims: 1 float_data: 0.5 float_data: 1 } "
      "node { op_type: 'Conv' input: 'x' input: 'w' output: 'c' } "
      "node { op_type: 'GlobalAveragePool' input: 'c' output: 'y' }";
  const HostTensor found = scores(ending);
  ASSERT_EQ(found.shape(), (Shape{8, 2}));
  EXPECT_NEAR(found.to_double()[1], 2 * found.to_double()[0], 1e-6);
}

TEST_F(CmdEval, OnlyARunHasCheckpointsToChooseFrom) {
  expect_error(ErrorKind::kUsage, "expected a run's folder with --checkpoint best, found", [&] {
    evaluate(model_, {"--checkpoint", "best"});
  });
}

TEST_F(CmdEval, ACheckpointWithoutItsRunIsNamed) {
  folder_.write("alone.safetensors", "x");
  expect_error(ErrorKind::kData, "expected 'source.onnx' beside the checkpoint '" + folder_.file("alone.safetensors"),
               [&] { evaluate(folder_.file("alone.safetensors")); });
}

TEST_F(CmdEval, ScoresThatCannotBeWrittenAreKnownBeforeDataAreRead) {
  const auto refuse = [&](const std::string& file, const std::string& part) {
    expect_error(ErrorKind::kUsage, part, [&] {
      run_command("eval", {model_, "--data", folder_.file("no-data"), "--logits", file});
    });
  };
  refuse(folder_.file("scores.txt"), "to end in .npy or .pb");
  refuse(folder_.file("no-folder/scores.npy"), "expected --logits to name a file that can be written");
  std::filesystem::create_directory(folder_.file("folder.npy"));
  refuse(folder_.file("folder.npy"), "it is a folder");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
}

TEST_F(CmdEval, AModelWithOnlyALossHasNoScores) {
  const std::string dims = "dim { dim_param: 'N' } dim { dim_value: 1 } dim { dim_value: 4 } dim { dim_value: 4 }";
  const std::string model = graph_bytes(
      "input { name: 'x' type { tensor_type { elem_type: 1 shape { " + dims +
      " } } } } output { name: 'loss' type { tensor_type { elem_type: 1 shape { } } } } "
      "initializer { name: 'w' data_type: 1 dims: 1 float_data: 1 } "
      "node { op_type: 'Mul' input: 'x' input: 'w' output: 'y' } "
      "node { op_type: 'ReduceMean' input: 'y' output: 'loss' attribute { name: 'keepdims' type: INT i: 0 } }");
  folder_.write("loss.onnx", model);
  expect_error(ErrorKind::kModel, "expected the model to have scores", [&] {
    run_command("eval",
                {folder_.file("loss.onnx"), "--data", folder_.file("no-data"), "--logits", folder_.file("s.npy")});
  });
  EXPECT_FALSE(std::filesystem::exists(folder_.file("s.npy")));
}

}  // namespace
}  // namespace onward::test
