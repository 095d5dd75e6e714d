#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/tensor_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/onnx_text.h"
#include "tests/support/run_command.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

using test::run_command;

std::string value(const std::string& name, const std::string& dims, int type = 1) {
  return "name: '" + name + "' type { tensor_type { elem_type: " + std::to_string(type) + " shape { " + dims +
         " } } } ";
}
const std::string kRows = "dim { dim_param: 'N' } ", kThree = "dim { dim_value: 3 } ";

// loss = mean(0.5 * (w * x - t)^2)
std::string regression() {
  return graph_bytes("input { " + value("x", kRows) + "} input { " + value("t", kRows) + "} output { " +
                     value("cost", "") + "} " +
                     R"(initializer { name: 'w' data_type: 1 float_data: 0 }
                        node { op_type: 'Constant' output: 'half' attribute { name: 'value_float' type: FLOAT f: 0.5 } }
                        node { op_type: 'Mul' input: 'x' input: 'w' output: 'y' }
                        node { op_type: 'Sub' input: 'y' input: 't' output: 'd' }
                        node { op_type: 'Mul' input: 'd' input: 'd' output: 'dd' }
                        node { op_type: 'Mul' input: 'half' input: 'dd' output: 'h' }
                        node { op_type: 'ReduceMean' input: 'h' output: 'cost' attribute { name: 'keepdims' type: INT i: 0 } })");
}

// Cross entropy of the file with class weights over scores x * 1.
std::string weighted_cross_entropy() {
  return graph_bytes("input { " + value("x", kRows + kThree) + "} input { " + value("target", kRows, 7) +
                     "} output { " + value("cost", "") + "} " +
                     R"(initializer { name: 'w' data_type: 1 dims: 3 float_data: 1 float_data: 1 float_data: 1 }
                        initializer { name: 'weights' data_type: 1 dims: 3 float_data: 1 float_data: 2 float_data: 4 }
                        node { op_type: 'Mul' input: 'x' input: 'w' output: 'scores' }
                        node { op_type: 'SoftmaxCrossEntropyLoss' input: 'scores' input: 'target' input: 'weights' output: 'cost' })");
}

class CmdRun : public testing::Test {
 protected:
  // The tensors that `onward run` writes for the model.
  void run(const std::string& model, std::vector<std::string> arguments) {
    folder_.write("m.onnx", model);
    std::filesystem::remove_all(folder_.file("out"));
    arguments.insert(arguments.begin(), folder_.file("m.onnx"));
    for (const char* more : {"-o", "", "--precision", "fp64"})
      arguments.emplace_back(*more ? more : folder_.file("out"));
    const auto result = run_command("run", arguments);
    ASSERT_EQ(result.code, 0) << result.output;
  }
  std::string input(const std::string& name, const HostTensor& tensor) {
    write_tensor_file(folder_.file(name + ".npy"), tensor);
    return folder_.file(name + ".npy");
  }
  std::vector<double> read(const std::string& name) {
    return read_tensor_file(folder_.file("out/" + name + ".npy")).to_double();
  }

  TemporaryFolder folder_;
};

TEST_F(CmdRun, A6_TheNumberOfReplicasDoesNotScaleTheGradient) {
  const std::string x = input("x", HostTensor::from<float>({4}, {1, 1, 1, 1})),
                    t = input("t", HostTensor::from<float>({4}, {1, 2, 3, 4}));
  for (const char* devices : {"cpu", "cpu:2", "cpu:3", "cpu:4"}) {
    run(regression(), {"--input", "x=" + x, "--input", "t=" + t, "--grad", "cost", "--devices", devices});
    EXPECT_DOUBLE_EQ(read("w.grad")[0], -2.5) << devices;
    EXPECT_DOUBLE_EQ(read("cost")[0], 3.75) << devices;
    EXPECT_EQ(read("x.grad"), (std::vector<double>{0, 0, 0, 0})) << devices;
    EXPECT_EQ(read("t.grad"), (std::vector<double>{0.25, 0.5, 0.75, 1})) << devices;
  }
}

TEST_F(CmdRun, A5_UnevenAndEmptySharesAreWeightedByCount) {
  const std::string x = input("x", HostTensor::from<float>({4}, {1, 1, 1, 1})),
                    t = input("t", HostTensor::from<float>({4}, {1, 2, 3, 4}));
  for (const char* split : {"1,3", "4,0", "0,4"}) {
    run(regression(),
        {"--input", "x=" + x, "--input", "t=" + t, "--grad", "cost", "--devices", "cpu:2", "--split", split});
    EXPECT_DOUBLE_EQ(read("w.grad")[0], -2.5) << split;
    EXPECT_DOUBLE_EQ(read("cost")[0], 3.75) << split;
  }
}

TEST_F(CmdRun, AWeightedLossOfTheFileIsDividedByTheWeightsOfAllLabels) {
  const std::string x = input("x", HostTensor(DType::kFloat32, {3, 3})),
                    target = input("target", HostTensor::from<int64_t>({3}, {2, 0, 0}));
  // Equal scores: every term is log(3), so the weighted mean is, too; d cost / d x of row 0 is 4/6 (1/3 - [class is the
  // label]).
  for (const char* devices : {"cpu", "cpu:2"}) {
    run(weighted_cross_entropy(),
        {"--input", "x=" + x, "--input", "target=" + target, "--grad", "cost", "--devices", devices});
    EXPECT_NEAR(read("cost")[0], std::log(3.0), 1e-12) << devices;
    EXPECT_NEAR(read("x.grad")[2], 4.0 / 6 * (1.0 / 3 - 1), 1e-12) << devices;
    run(weighted_cross_entropy(), {"--input", "x=" + x, "--label", target, "--loss", "auto", "--devices", devices});
    EXPECT_NEAR(read("loss")[0], std::log(3.0), 1e-12) << devices;
    EXPECT_NEAR(read("x.grad")[2], 4.0 / 6 * (1.0 / 3 - 1), 1e-12) << devices;
  }
}

// What `run` writes by a name of its own does not collide with the names of the file.
TEST_F(CmdRun, NamesOfTheFileMayBeThoseOfResults) {
  const std::string text = graph_bytes("input { " + value("loss", kRows) + "} input { " + value("w.grad", kRows) +
                                       "} output { " + value("cost", "") + "} " +
                                       R"(initializer { name: 'w' data_type: 1 float_data: 0 }
         node { op_type: 'Mul' input: 'loss' input: 'w' output: 'y' }
         node { op_type: 'Sub' input: 'y' input: 'w.grad' output: 'd' }
         node { op_type: 'Mul' input: 'd' input: 'd' output: 'dd' }
         node { op_type: 'ReduceMean' input: 'dd' output: 'cost' attribute { name: 'keepdims' type: INT i: 0 } })");
  const std::string x = input("loss", HostTensor::from<float>({4}, {1, 1, 1, 1})),
                    t = input("t", HostTensor::from<float>({4}, {1, 2, 3, 4}));
  run(text, {"--input", "loss=" + x, "--input", "w.grad=" + t, "--grad", "cost"});
  EXPECT_DOUBLE_EQ(read("w.grad")[0], -5);
  EXPECT_EQ(read("w.grad.grad"), (std::vector<double>{0.5, 1, 1.5, 2}));
}

TEST_F(CmdRun, Rank0KeepsTheRunningStatisticsOfTheFirstReplica) {
  const std::string normalised = graph_bytes("input { " + value("x", kRows + "dim { dim_value: 1 } ") + "} output { " +
                                             value("y", kRows + "dim { dim_value: 1 } ") + "} " +
                                             R"(initializer { name: 'scale' data_type: 1 dims: 1 float_data: 1 }
         initializer { name: 'bias' data_type: 1 dims: 1 float_data: 0 }
         initializer { name: 'mean' data_type: 1 dims: 1 float_data: 0 }
         initializer { name: 'var' data_type: 1 dims: 1 float_data: 1 }
         node { op_type: 'BatchNormalization' input: 'x' input: 'scale' input: 'bias' input: 'mean' input: 'var' output: 'y' })");
  const std::string x = input("x", HostTensor::from<float>({5, 1}, {1, 2, 3, 10, 20}));
  const std::vector<std::string> split = {"--input", "x=" + x,  "--training", "--devices",
                                          "cpu:2",   "--split", "3,2",        "--bn"};
  const auto mean_with = [&](const std::string& mode) {
    std::vector<std::string> arguments = split;
    arguments.push_back(mode);
    run(normalised, arguments);
    return read("mean.updated")[0];
  };
  EXPECT_NEAR(mean_with("rank0"), 0.2, 1e-12);
  EXPECT_NEAR(mean_with("local"), (3 * 0.2 + 2 * 1.5) / 5, 1e-12);
  EXPECT_NEAR(mean_with("sync"), 0.72, 1e-12);
}

class CmdRunInputs : public CmdRun {
 protected:
  void expect_failure(ErrorKind kind, const std::string& part, const std::string& model,
                      std::vector<std::string> arguments) {
    expect_error(kind, part, [&] { run(model, arguments); });
  }
  std::string image(const std::string& name, const Shape& shape) {
    return name + "=" + input(name, HostTensor(DType::kFloat32, shape));
  }
  std::string labels(const Shape& shape, const std::vector<float>& values) {
    return input("y", HostTensor::from<float>(shape, values));
  }
};

TEST_F(CmdRunInputs, AFixedDimensionIsKept) {
  expect_failure(ErrorKind::kData, "expected 3 in dimension 1 for the input 'x' (float32[N,3]), found float32[2,4]",
                 weighted_cross_entropy(), {"--input", image("x", {2, 4}), "--label", labels({2}, {0, 1})});
  expect_failure(ErrorKind::kData, "expected 2 dimensions for the input 'x'", weighted_cross_entropy(),
                 {"--input", image("x", {2, 3, 1}), "--label", labels({2}, {0, 1})});
}

TEST_F(CmdRunInputs, InputsOfTheBatchHaveTheSameRows) {
  expect_failure(ErrorKind::kData, "found 4 in 'x' and 3 in 't'", regression(),
                 {"--input", image("x", {4}), "--input", image("t", {3})});
}

TEST_F(CmdRunInputs, AFixedBatchTakesAnyNumberOfRows) {
  const std::string fixed = graph_bytes("input { " + value("x", "dim { dim_value: 4 } dim { dim_value: 3 } ") +
                                        "} output { " + value("y", "dim { dim_value: 4 } dim { dim_value: 3 } ") +
                                        "} node { op_type: 'Relu' input: 'x' output: 'y' }");
  run(fixed, {"--input", image("x", {2, 3}), "--devices", "cpu:2"});
  EXPECT_EQ(read("y").size(), 6u);
}

TEST_F(CmdRunInputs, ThereIsOneWholeLabelForEachRow) {
  const std::string x = image("x", {3, 3});
  const auto refuse = [&](const std::string& part, const Shape& shape, const std::vector<float>& values) {
    expect_failure(ErrorKind::kData, part, weighted_cross_entropy(),
                   {"--input", x, "--label", labels(shape, values), "--loss", "auto"});
  };
  refuse("expected 3 labels in", {2}, {0, 1});
  refuse("found 2 (float32[2])", {2}, {0, 1});
  refuse("found 1.5 at index 2 of float32[3]", {3}, {0, 1, 1.5});
  refuse("found nan at index 0", {3}, {NAN, 1, 1});
  run(weighted_cross_entropy(), {"--input", x, "--label", labels({3}, {2, 0, 0}), "--loss", "auto"});
  EXPECT_NEAR(read("loss")[0], std::log(3.0), 1e-12);
  expect_failure(ErrorKind::kData, "the input 'target' in", weighted_cross_entropy(),
                 {"--input", x, "--input", "target=" + labels({3}, {0, 1, 1.5})});
}

TEST_F(CmdRunInputs, LabelsOfAnAttachedLossAreOneNumberEach) {
  const std::string scores =
      graph_bytes("input { " + value("x", kRows + kThree) + "} output { " + value("y", kRows + kThree) +
                  "} node { op_type: 'Relu' input: 'x' output: 'y' }");
  expect_failure(ErrorKind::kData,
                 "expected labels of type int64[2] in '" + folder_.file("y.npy") + "', found float32[2,1]", scores,
                 {"--input", image("x", {2, 3}), "--label", labels({2, 1}, {0, 1}), "--loss", "cross_entropy"});
}

TEST_F(CmdRunInputs, WhatWouldBePassedOverIsRefused) {
  const std::string x = image("x", {2, 3}), label = labels({2}, {0, 1});
  expect_failure(ErrorKind::kUsage, "expected one --input for each input, found", weighted_cross_entropy(),
                 {"--input", x, "--input", x, "--label", label});
  expect_failure(ErrorKind::kUsage, "expected --loss with --label", weighted_cross_entropy(),
                 {"--input", x, "--input", "target=" + label, "--label", label});
  run(weighted_cross_entropy(), {"--input", x, "--label", label});  // for the input that is left
}

TEST_F(CmdRunInputs, AMeanOfTheFileIsThatOfTheWholeBatchOnAnyNumberOfReplicas) {
  const std::string x = input("x", HostTensor::from<float>({4}, {1, 1, 1, 1})),
                    t = input("t", HostTensor::from<float>({4}, {1, 2, 3, 4}));
  for (const char* split : {"4", "1,3", "0,2,2"}) {
    const std::string devices = "cpu:" + std::to_string(1 + std::count(split, split + std::strlen(split), ','));
    run(regression(), {"--input", "x=" + x, "--input", "t=" + t, "--devices", devices, "--split", split});
    EXPECT_DOUBLE_EQ(read("cost")[0], 3.75) << split;
    EXPECT_FALSE(std::filesystem::exists(folder_.file("out/w.grad.npy")));
  }
}

TEST_F(CmdRunInputs, SeveralMeansSayWhatToDo) {
  const std::string two = graph_bytes(
      "input { " + value("x", kRows) + "} output { " + value("a", "") + "} output { " + value("b", "") + "} " +
      R"(node { op_type: 'ReduceMean' input: 'x' output: 'a' attribute { name: 'keepdims' type: INT i: 0 } }
                                         node { op_type: 'ReduceMax' input: 'x' output: 'b' attribute { name: 'keepdims' type: INT i: 0 } })");
  expect_failure(ErrorKind::kModel, "use --devices cpu for one replica", two,
                 {"--input", image("x", {4}), "--devices", "cpu:2"});
  run(two, {"--input", image("x", {4})});
}

// The same name as that of the loss of a training.
TEST_F(CmdRunInputs, AnOutputNamedLossKeepsItsShapeOnSeveralReplicas) {
  const std::string model = graph_bytes(
      "input { " + value("x", kRows) + "} output { " + value("loss", "dim { dim_value: 1 }") + "} " +
      R"(node { op_type: 'ReduceMean' input: 'x' output: 'loss' attribute { name: 'keepdims' type: INT i: 1 } })");
  const std::string x = input("x", HostTensor::from<float>({4}, {1, 2, 3, 6}));
  for (const char* devices : {"cpu", "cpu:2"}) {
    run(model, {"--input", "x=" + x, "--devices", devices});
    EXPECT_EQ(read_tensor_file(folder_.file("out/loss.npy")).type().text(), "float64[1]") << devices;
    EXPECT_EQ(read("loss"), std::vector<double>{3}) << devices;
  }
}

}  // namespace
}  // namespace onward::test
