// One classifier, its BatchNormalization written in the form of every opset: training does not see the difference.
#include <fmt/format.h>

#include <numeric>

#include "graph/model.h"
#include "graph/scalars.h"
#include "passes/model_program.h"
#include "tests/support/lock_step.h"
#include "tests/support/net.h"
#include "tests/support/onnx_text.h"
#include "tests/support/tensors.h"

namespace onward::test {
namespace {

// How a file says BatchNormalization. Before opset 14 the number of outputs tells training from inference, from 14 on
// training_mode does.
struct Form {
  int opset;
  int outputs;
  std::string attributes = "";

  std::string text() const { return fmt::format("opset {}, {} outputs, {}", opset, outputs, attributes); }
};

const std::string kTrainingMode = "attribute { name: 'training_mode' type: INT i: 1 }";
const std::string kNoTrainingMode = "attribute { name: 'training_mode' type: INT i: 0 }";

const std::vector<Form> kForms = {{7, 1},
                                  {7, 1, "attribute { name: 'spatial' type: INT i: 1 }"},
                                  {7, 3},
                                  {7, 5},
                                  {9, 1},
                                  {9, 3},
                                  {9, 5},
                                  {14, 1},
                                  {14, 1, kNoTrainingMode},
                                  {14, 1, kTrainingMode},
                                  {14, 3, kTrainingMode},
                                  {15, 1},
                                  {15, 1, kNoTrainingMode},
                                  {15, 3, kTrainingMode}};

std::string initializer(const std::string& name, const Shape& shape, double low, double high, uint64_t seed) {
  std::string text = fmt::format("initializer {{ name: '{}' data_type: 1 ", name);
  for (const int64_t size : shape) text += fmt::format("dims: {} ", size);
  for (const double value : random_tensor(DType::kFloat32, shape, low, high, seed).to_double())
    text += fmt::format("float_data: {:.9g} ", value);
  return text + "} ";
}

std::string batch_norm(const Form& form) {
  const std::vector<std::string> names{"norm", "next_mean", "next_var", "saved_mean", "saved_var"};
  std::string text =
      "node { op_type: 'BatchNormalization' input: ['conv', 'scale', 'bias', 'mean', 'var'] "
      "attribute { name: 'momentum' type: FLOAT f: 0.75 } attribute { name: 'epsilon' type: FLOAT f: 0.001 } ";
  for (int i = 0; i < form.outputs; ++i) text += fmt::format("output: '{}' ", names.at(static_cast<std::size_t>(i)));
  return text + form.attributes + " } ";
}

// x[N,2,5,5] -> convolution -> batch norm -> Relu -> mean over the image -> linear -> three classes.
Model classifier(const Form& form) {
  const std::string text =
      R"(input { name: "x" type { tensor_type { elem_type: 1 shape {
           dim { dim_param: "N" } dim { dim_value: 2 } dim { dim_value: 5 } dim { dim_value: 5 } } } } } )" +
      initializer("w", {4, 2, 3, 3}, -1, 1, 1) + initializer("scale", {4}, 0.5, 1.5, 2) +
      initializer("bias", {4}, -1, 1, 3) + initializer("mean", {4}, -1, 1, 4) + initializer("var", {4}, 0.5, 2, 5) +
      initializer("fc.w", {3, 4}, -1, 1, 6) + initializer("fc.b", {3}, -1, 1, 7) +
      "node { op_type: 'Conv' input: ['x', 'w'] output: 'conv' } " + batch_norm(form) +
      R"(node { op_type: "Relu" input: "norm" output: "relu" }
         node { op_type: "GlobalAveragePool" input: "relu" output: "pool" }
         node { op_type: "Flatten" input: "pool" output: "flat" }
         node { op_type: "Gemm" input: ["flat", "fc.w", "fc.b"] output: "scores"
                attribute { name: "transB" type: INT i: 1 } }
         output { name: "scores" })";
  return Model::from_bytes(graph_bytes(text, form.opset), "a test");
}

// The loss of each step, then the running statistics at the end.
std::vector<double> train(const Form& form, const std::vector<int64_t>& shares) {
  constexpr int kSteps = 6;
  const auto count = static_cast<int>(shares.size());
  const int64_t samples = std::accumulate(shares.begin(), shares.end(), int64_t{0});
  ModelProgram program(classifier(form),
                       {.replicas = count, .precision = DType::kFloat64, .optimizer = OptimizerKind::kMomentum});
  std::vector<Graph> graphs;
  std::vector<const Graph*> programs;
  for (const int64_t rows : shares) graphs.push_back(program.program({ProgramMode::kTrain, rows}));
  for (const Graph& graph : graphs) programs.push_back(&graph);
  LockStep replicas(count);
  std::vector<double> curve;
  for (int step = 0; step < kSteps; ++step) {
    const HostTensor images = random_tensor(DType::kFloat64, {samples, 2, 5, 5}, -1, 2, 10);
    const HostTensor labels = random_tensor(DType::kInt64, {samples}, 0, 2, 11);
    std::vector<NamedTensors> inputs;
    int64_t first = 0;
    for (const int64_t rows : shares) {
      inputs.push_back({{"x", rows_of(images, first, first + rows)},
                        {kLabelInput, rows_of(labels, first, first + rows)},
                        {kLearningRate, HostTensor::scalar<double>(0.3)},
                        {kLossDenominator, HostTensor::scalar<double>(static_cast<double>(samples))}});
      first += rows;
    }
    curve.push_back(replicas.run(programs, inputs).front().at(kLossOutput).to_double().front());
  }
  for (const char* state : {"mean", "var"}) {
    const std::vector<double> values = replicas.stored(state).to_double();
    curve.insert(curve.end(), values.begin(), values.end());
  }
  return curve;
}

void expect_same_curves(const std::vector<int64_t>& shares) {
  const std::vector<double> expected = train(kForms.front(), {7});
  EXPECT_LT(expected.at(5), 0.9 * expected.at(0)) << "the model learns";
  for (const Form& form : kForms) {
    const std::vector<double> found = train(form, shares);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-12) << form.text() << ": " << i;
  }
}

TEST(BatchNormOpsets, B4_TheSameLossCurveFromEveryForm) { expect_same_curves({7}); }

TEST(BatchNormOpsets, B4_TheSameLossCurveFromEveryFormOnTwoReplicas) { expect_same_curves({4, 3}); }

}  // namespace
}  // namespace onward::test
