#include <sstream>

#include "graph/tensor_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/onnx_text.h"
#include "tests/support/run_command.h"
#include "tests/support/temporary_folder.h"
#include "tools/onnx_test_case.h"

namespace onward::test {
namespace {

using test::run_command;
using testing::EndsWith;
using testing::HasSubstr;

const std::string kImage = "type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } }";

// A test folder whose model is one node from 'x' to 'y', with one set of data.
void write_case(const TemporaryFolder& folder, const std::string& name, const std::string& node,
                const HostTensor& input, const HostTensor& output, const std::string& type = kImage) {
  std::filesystem::create_directories(folder.path() / name / "test_data_set_0");
  folder.write(name + "/model.onnx", graph_bytes("input { name: 'x' " + type + " } node { input: 'x' output: 'y' " +
                                                 node + " } output { name: 'y' " + type + " }"));
  write_tensor_file(folder.file(name + "/test_data_set_0/input_0.pb"), input);
  write_tensor_file(folder.file(name + "/test_data_set_0/output_0.pb"), output);
}

const HostTensor kInput = HostTensor::from<float>({3}, {-1, 0, 2});
const HostTensor kRelu = HostTensor::from<float>({3}, {0, 0, 2});

TEST(CmdCheck, CountsAndExplains) {
  const TemporaryFolder folder;
  write_case(folder, "a_right", "op_type: 'Relu'", kInput, kRelu);
  write_case(folder, "b_wrong", "op_type: 'Relu'", kInput, kInput);
  write_case(folder, "c_unknown", "op_type: 'NoSuchOp'", kInput, kRelu);
  write_case(folder, "d_sequence", "op_type: 'Relu'", kInput, kRelu,
             "type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } }");
  write_case(folder, "e_text", "op_type: 'Relu'", kInput, kRelu, "type { tensor_type { elem_type: 8 shape { } } }");
  folder.write("f_damaged", "");
  std::filesystem::create_directories(folder.path() / "g_damaged");
  folder.write("g_damaged/model.onnx", "not a model");
  const auto result = run_command("check", {folder.path().string()});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.output, EndsWith("\n1 passed, 2 failed, 3 skipped\n"));
  EXPECT_THAT(result.output, HasSubstr("FAILED " + folder.file("b_wrong") +
                                       ": output 'y': 1 of 3 elements differ, most element 0: expected -1, found 0\n"));
  EXPECT_THAT(result.output, HasSubstr("skipped " + folder.file("c_unknown") + ": unsupported op: "));
  EXPECT_THAT(result.output, HasSubstr("skipped " + folder.file("d_sequence") + ": not a tensor: 'x'"));
  EXPECT_THAT(result.output, HasSubstr("skipped " + folder.file("e_text") + ": unsupported type: 'x' is string"));
  EXPECT_THAT(result.output, HasSubstr("FAILED " + folder.file("g_damaged") + ": expected an ONNX model"));
}

TEST(CmdCheck, SucceedsWhenNothingFails) {
  const TemporaryFolder folder;
  write_case(folder, "right", "op_type: 'Relu'", kInput, kRelu);
  const auto result = run_command("check", {folder.file("right"), "--threads", "2"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.output, "1 passed, 0 failed, 0 skipped\n");
}

TEST(CmdCheck, TolerancesAreOptions) {
  const TemporaryFolder folder;
  write_case(folder, "near", "op_type: 'Relu'", kInput, HostTensor::from<float>({3}, {0, 0, 2.1f}));
  EXPECT_EQ(run_command("check", {folder.path().string()}).code, 1);
  EXPECT_EQ(run_command("check", {folder.path().string(), "--rtol", "0.1"}).code, 0);
  EXPECT_EQ(run_command("check", {folder.path().string(), "--atol", "0.2"}).code, 0);
}

TEST(CmdCheck, EveryDataSetCounts) {
  const TemporaryFolder folder;
  write_case(folder, "two", "op_type: 'Relu'", kInput, kRelu);
  std::filesystem::create_directories(folder.path() / "two/test_data_set_1");
  write_tensor_file(folder.file("two/test_data_set_1/input_0.pb"), kInput);
  write_tensor_file(folder.file("two/test_data_set_1/output_0.pb"), kInput);
  EXPECT_EQ(run_command("check", {folder.path().string()}).code, 1);
}

TEST(CmdCheck, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  expect_error(ErrorKind::kData, "expected a model.onnx at or below",
               [&] { run_command("check", {folder.path().string()}); });
  expect_error(ErrorKind::kData, "expected a folder, found none at",
               [&] { run_command("check", {folder.file("none")}); });
  expect_error(ErrorKind::kUsage, "", [&] { run_command("check", {}); });
  write_case(folder, "empty", "op_type: 'Relu'", kInput, kRelu);
  std::filesystem::remove_all(folder.path() / "empty/test_data_set_0");
  EXPECT_THAT(run_command("check", {folder.path().string()}).output, HasSubstr("expected test_data_set_0"));
}

// ONNX's own node and model tests: an oracle that nobody here wrote.
TEST(CmdCheck, PassesTheTestsOfOnnx) {
  const std::string data = "/usr/share/libonnx-testdata/data";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "libonnx-testdata is not installed";
  const auto result = run_command("check", {data});
  EXPECT_EQ(result.code, 0);
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) EXPECT_NE(line.substr(0, 6), "FAILED") << line;
  const auto last = result.output.rfind('\n', result.output.size() - 2) + 1;
  EXPECT_GE(std::stoi(result.output.substr(last)), 390);
}

}  // namespace
}  // namespace onward::test
