#include "graph/model.h"
#include "models/build_model.h"
#include "tests/support/expect_error.h"
#include "tests/support/run_command.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

using test::run_command;

TEST(CmdModel, WritesTheModelAskedFor) {
  const TemporaryFolder folder;
  const std::string path = folder.file("m.onnx");
  const auto result = run_command(
      "model", {"resnet8", "-o", path, "--classes", "7", "--input", "1,16,16", "--stages=2,1,1", "--seed", "3"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.output.substr(0, 12 + path.size()), "wrote '" + path + "': re");
  const ModelRecipe recipe{.name = "resnet8", .classes = 7, .input = {1, 16, 16}, .stages = {2, 1, 1}, .seed = 3};
  EXPECT_EQ(Model::load(path).bytes(), build_model(recipe).bytes());
}

TEST(CmdModel, WritesPlainAndSmallForms) {
  const TemporaryFolder folder;
  const std::string path = folder.file("m.onnx");
  run_command("model", {"resnet18", "-o", path, "--plain", "--stem", "cifar", "--stages", "1,1,1,1"});
  const ModelRecipe recipe{.name = "resnet18", .stages = {1, 1, 1, 1}, .plain = true, .stem = Stem::kCifar};
  EXPECT_EQ(Model::load(path).bytes(), build_model(recipe).bytes());
}

TEST(CmdModel, RejectsWrongOptions) {
  const auto reject = [](const std::vector<std::string>& arguments, const std::string& part) {
    expect_error(ErrorKind::kUsage, part, [&] { run_command("model", arguments); });
  };
  reject({"lenet"}, "expected -o FILE");
  reject({"-o", "m.onnx"}, "expected");
  reject({"le-net", "-o", "m.onnx"}, "found 'le-net'; the models are seed-resnet");
  reject({"restnet20", "-o", "m.onnx"}, "did you mean resnet20?");
  for (const char* list : {"1,1,x", "1,1,", ",1", "1;1;1", "1.5,1,1"}) {
    reject({"resnet8", "-o", "m.onnx", "--stages", list},
           "expected --stages to be whole numbers with commas between them");
  }
  reject({"resnet8", "-o", "m.onnx", "--classes", "0"}, "--classes");
}

}  // namespace
}  // namespace onward::test
