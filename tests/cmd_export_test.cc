#include "graph/tensor_file.h"
#include "models/build_model.h"
#include "passes/fold_batch_norm.h"
#include "runtime/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/onnx_text.h"
#include "tests/support/run_command.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

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

// y = relu(unit(conv(x))), where unit is a function of the file around a BatchNormalization, or around nothing.
std::string calling_a_function(bool normalizes) {
  const auto tensor = [](const std::string& name, const std::string& values) {
    return "initializer { name: '" + name + "' data_type: 1 dims: 1 float_data: " + values + " } ";
  };
  const std::string image =
      "type { tensor_type { elem_type: 1 shape { dim { dim_param: 'N' } dim { dim_value: 1 } dim { dim_value: 3 } "
      "dim { dim_value: 3 } } } } } ";
  const std::string body =
      normalizes
          ? "node { op_type: 'BatchNormalization' input: 'x' input: 's' input: 'b' input: 'm' input: 'v' output: 'n' }"
          : "node { op_type: 'Mul' input: 'x' input: 's' output: 'n' }";
  return model_bytes(
      "ir_version: 8 opset_import { version: 17 } opset_import { domain: 'loc' version: 1 } "
      "functions { name: 'Unit' domain: 'loc' input: 'x' input: 's' input: 'b' input: 'm' input: 'v' output: 'r' " +
      body + " node { op_type: 'Relu' input: 'n' output: 'r' } opset_import { version: 17 } } graph { name: 'g' " +
      "input { name: 'x' " + image + "output { name: 'y' " + image +
      "initializer { name: 'w' data_type: 1 dims: 1 dims: 1 dims: 1 dims: 1 float_data: 2 } " + tensor("s", "3") +
      tensor("b", "0.5") + tensor("m", "0.25") + tensor("v", "4") +
      "node { op_type: 'Conv' input: 'x' input: 'w' output: 'c' } "
      "node { op_type: 'Unit' domain: 'loc' name: 'unit' input: 'c' input: 's' input: 'b' input: 'm' input: 'v' "
      "output: 'y' } }");
}

TEST_F(CmdExport, FoldingReachesIntoFunctions) {
  write_tensor_file(folder_.file("x.npy"), random_tensor(DType::kFloat32, {2, 1, 3, 3}, -1, 1, 5));
  const auto outputs = [&](const std::string& model) {
    run_command("run", {model, "--input", folder_.file("x.npy"), "-o", folder_.file("out")});
    return read_tensor_file(folder_.file("out/y.npy")).to_double();
  };
  for (const bool normalizes : {true, false}) {
    folder_.write("source.onnx", calling_a_function(normalizes));
    run_command("export", {checkpoint_, "-o", output_, "--fold-batch-norm"});
    const Model model = Model::load(output_);
    EXPECT_EQ(checker_message(model.bytes()), "");
    EXPECT_EQ(model.metadata(kFoldedBatchNormKey), normalizes ? "1" : "");
    EXPECT_EQ(model.function({"loc", "Unit"}) != nullptr, !normalizes) << "a file without anything to fold stays";
    const std::vector<double> folded = outputs(output_), expected = outputs(folder_.file("source.onnx"));
    ASSERT_EQ(folded.size(), expected.size());
    for (std::size_t i = 0; i < folded.size(); ++i) EXPECT_NEAR(folded[i], expected[i], 1e-5);
  }
}

}  // namespace
}  // namespace onward::test
