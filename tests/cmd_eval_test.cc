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
