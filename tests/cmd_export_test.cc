#include "models/build_model.h"
#include "passes/fold_batch_norm.h"
#include "runtime/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/run_command.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

class CmdExport : public testing::Test {
 protected:
  CmdExport() {
    build_model({.name = "resnet8"}).save(folder_.file("source.onnx"));
    save_checkpoint(checkpoint_, Checkpoint{});
  }

  TemporaryFolder folder_;
  std::string checkpoint_ = folder_.file("last.safetensors"), output_ = folder_.file("out.onnx");
};

TEST_F(CmdExport, AFoldedModelSaysSo) {
  run_command("export", {checkpoint_, "-o", output_, "--fold-batch-norm"});
  EXPECT_EQ(Model::load(output_).metadata(kFoldedBatchNormKey), "9");
  run_command("export", {checkpoint_, "-o", output_});
  EXPECT_EQ(Model::load(output_).metadata(kFoldedBatchNormKey), "");
}

TEST_F(CmdExport, FoldingAndTheTrainingGraphExcludeEachOther) {
  expect_error(ErrorKind::kUsage, "found both", [&] {
    run_command("export", {checkpoint_, "-o", output_, "--fold-batch-norm", "--training-graph"});
  });
  EXPECT_FALSE(std::filesystem::exists(output_));
}

}  // namespace
}  // namespace onward::test
