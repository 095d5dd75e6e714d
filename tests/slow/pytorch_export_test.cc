// Files that PyTorch writes, made while the test runs: import, round trip, export in inference form, and the numbers.
#include <cstdlib>
#include <filesystem>

#include "graph/file_io.h"
#include "graph/model.h"
#include "graph/print.h"
#include "graph/tensor_file.h"
#include "graph/verify.h"
#include "tests/support/onnx_text.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"
#include "tools/onnx_test_case.h"

namespace onward::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::string python() {
  const char* given = std::getenv("ONWARD_TORCH_PYTHON");
  return given ? given : "/usr/bin/python3";
}

int shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()); }

// Made once for all tests of the suite.
class PyTorchExport : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (shell(python() + " -c 'import torch, numpy'") != 0) return;
    folder_ = std::make_unique<TemporaryFolder>();
    const std::string script = source_dir() + "/tests/python/export_small_models.py";
    ASSERT_EQ(shell(python() + " " + script + " " + folder_->file("exports")), 0);
    for (const auto& entry : fs::directory_iterator(folder_->file("exports"))) cases_.push_back(entry.path());
  }
  static void TearDownTestSuite() { folder_.reset(); }

  void SetUp() override {
    if (!folder_) GTEST_SKIP() << "no Python with torch; ONWARD_TORCH_PYTHON names one";
  }

  static std::unique_ptr<TemporaryFolder> folder_;
  static std::vector<fs::path> cases_;
};
std::unique_ptr<TemporaryFolder> PyTorchExport::folder_;
std::vector<fs::path> PyTorchExport::cases_;

TEST_F(PyTorchExport, SurvivesTheRoundTrip) {
  ASSERT_GT(cases_.size(), 30u);
  for (const fs::path& folder : cases_) {
    SCOPED_TRACE(folder);
    const std::string bytes = read_file(folder / "model.onnx", ErrorKind::kModel);
    const Model model = Model::load(folder / "model.onnx");
    EXPECT_TRUE(same_model(model.bytes(), bytes));
    const Graph graph = model.graph();
    verify(graph);
    EXPECT_EQ(graph.inputs().size(), 1u);
    EXPECT_EQ(graph_summary(Model::from_graph(graph).bytes()), graph_summary(bytes));
  }
}

TEST_F(PyTorchExport, B3_InferenceFormGivesWhatPyTorchGives) {
  for (const fs::path& folder : cases_) {
    SCOPED_TRACE(folder);
    const Model model = Model::load(folder / "model.onnx").edited({.inference_form = true});
    const std::string text = model_text(model.bytes());
    EXPECT_THAT(text, Not(HasSubstr("training_mode")));
    EXPECT_THAT(text, Not(HasSubstr("batch_norm_dead_output")));
    const fs::path test = folder / "inference";
    fs::create_directories(test / "test_data_set_0");
    model.save(test / "model.onnx");
    write_tensor_file(test / "test_data_set_0/input_0.pb", read_tensor_file(folder / "input.npy"));
    write_tensor_file(test / "test_data_set_0/output_0.pb", read_tensor_file(folder / "output.npy"));
    const auto result = cli::run_test_case(test, {.relative = 1e-4, .absolute = 1e-5}, 1);
    EXPECT_EQ(result.status, cli::TestStatus::kPassed) << result.detail;
  }
}

TEST_F(PyTorchExport, TrainedTensorsGoToTheirPlace) {
  for (const fs::path& folder : cases_) {
    if (folder.filename().string().find("training") == std::string::npos) continue;
    SCOPED_TRACE(folder);
    const Model model = Model::load(folder / "model.onnx");
    ModelEdits edits{.inference_form = true};
    for (const char* name : {"conv1.weight", "bn1.weight", "bn2.running_var", "fc.bias"}) {
      HostTensor tensor = model.graph().find_value(name)->data;
      for (float& element : tensor.edit_values<float>()) element += 1;
      edits.tensors[name] = tensor;
    }
    const Graph before = model.graph(), after = model.edited(edits).graph();
    for (const std::string& name : model.initializers()) {
      const Value* value = after.find_value(name);
      if (!value) continue;  // what only told a Dropout to train
      const bool same = value->data.to_double() == before.find_value(name)->data.to_double();
      EXPECT_EQ(same, !edits.tensors.contains(name)) << name;
    }
  }
}

}  // namespace
}  // namespace onward::test
