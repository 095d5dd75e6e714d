#include "passes/onnx_form.h"

#include "graph/model.h"
#include "models/build_model.h"
#include "passes/model_program.h"
#include "tests/support/onnx_text.h"
#include "tests/support/op_case.h"
#include "tests/support/pass_driver.h"

namespace onward::test {
namespace {

// The training program as a file, its standard nodes in the form of the opset that the file declares.
std::string training_file(const Model& model, ProgramOptions options, ProgramMode mode = ProgramMode::kTrain) {
  ModelProgram program(model, std::move(options));
  Graph graph = program.program({mode, 2});
  to_onnx_form(graph);
  return Model::from_graph(graph).bytes();
}

ModelRecipe small_resnet() { return {.name = "resnet8", .input = {3, 16, 16}}; }

TEST(OnnxForm, TheTrainingProgramsOfSmallModelsAreValid) {
  for (const ModelRecipe& recipe : {small_resnet(), ModelRecipe{.name = "lenet"}}) {
    const Model model = build_model(recipe);
    for (const int replicas : {1, 2}) {
      ProgramOptions options{.replicas = replicas, .non_finite = NonFinite::kReport};
      EXPECT_EQ(checker_message(training_file(model, options)), "") << recipe.name;
      options.clip_value = 0.5;
      options.optimizer = OptimizerKind::kMomentum;
      options.non_finite = NonFinite::kSkip;
      EXPECT_EQ(checker_message(training_file(model, options)), "") << recipe.name;
      EXPECT_EQ(checker_message(training_file(model, options, ProgramMode::kTrainAccumulated)), "") << recipe.name;
    }
  }
}

TEST(OnnxForm, SoAreThoseOfEveryOptimizer) {
  const Model model = build_model({.name = "lenet"});
  for (const auto kind : {OptimizerKind::kSgd, OptimizerKind::kMomentum, OptimizerKind::kNesterov, OptimizerKind::kAdam,
                          OptimizerKind::kAdamW}) {
    ProgramOptions options{.replicas = 2, .optimizer = kind, .weight_decay = 0.1, .clip_norm = 1, .clip_value = 0.5};
    EXPECT_EQ(checker_message(training_file(model, options)), "");
    options.non_finite = NonFinite::kSkip;
    EXPECT_EQ(checker_message(training_file(model, options, ProgramMode::kTrainAccumulated)), "");
  }
}

Value& add(Graph& graph, const char* op, std::vector<Value*> inputs, const std::string& name,
           Attributes attributes = {}) {
  return *graph.add_node({"", op}, std::move(inputs), {name}, std::move(attributes)).output(0);
}

// Nodes whose normal form is not the form of the file, as opset 9 writes them: lists and bounds are attributes.
Graph old_forms() {
  Graph graph;
  graph.opsets[""] = 9;
  Value& x = add_image_input(graph, "x", {Dim("N"), 3, 4});
  const Attributes last{{"axes", Shape{2}}, {"keepdims", int64_t{1}}};
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"}) {
    graph.add_output(add(graph, op, {&x}, std::string(op) + ".last", last));
    graph.add_output(add(graph, op, {&x}, std::string(op) + ".all", {{"keepdims", int64_t{0}}}));
  }
  Value& wide = add(graph, "Unsqueeze", {&x}, "wide", {{"axes", Shape{0, 3}}});
  graph.add_output(add(graph, "Squeeze", {&wide}, "squeezed", {{"axes", Shape{3}}}));
  graph.add_output(
      add(graph, "Slice", {&x}, "slice", {{"axes", Shape{1, 2}}, {"starts", Shape{1, -3}}, {"ends", Shape{3, -1}}}));
  graph.add_output(add(graph, "Clip", {&x}, "both", {{"min", -0.25f}, {"max", 0.5f}}));
  graph.add_output(add(graph, "Clip", {&x}, "below", {{"max", 0.5f}}));
  Value& shape = graph.add_data("shape", HostTensor::from<int64_t>({3}, {0, 2, 6}));
  graph.add_output(add(graph, "Reshape", {&x, &shape}, "reshaped"));
  graph.add_output(add(graph, "Softmax", {&x}, "softmax", {{"axis", int64_t{1}}}));
  graph.add_output(add(graph, "Flatten", {&x}, "flat"));
  return graph;
}

// The last elements of each row first, the first row left out.
Graph backward_slice() {
  Graph graph;
  graph.opsets[""] = 13;
  Value& x = add_image_input(graph, "x", {Dim("N"), 3, 4});
  const auto list = [&](const char* name, std::vector<int64_t> values) {
    return &graph.add_data(name, HostTensor::from<int64_t>({static_cast<int64_t>(values.size())}, values));
  };
  graph.add_output(
      add(graph, "Slice",
          {&x, list("starts", {-1, 2}), list("ends", {INT64_MIN, 0}), list("axes", {2, 1}), list("steps", {-2, -1})},
          "slice"));
  return graph;
}

Graph evaluation(const Model& model) {
  return ModelProgram(model, {.loss = LossKind::kNone}).program(ProgramKey{ProgramMode::kEvaluate, 2});
}

std::map<std::string, HostTensor> outputs_of(const Graph& graph) {
  const HostTensor x = random_tensor(DType::kFloat32, {2, 3, 4}, -1, 1, 7);
  const Tensors values = evaluate(graph, {{graph.find_value("x"), x}});
  std::map<std::string, HostTensor> outputs;
  for (const Value* output : graph.outputs()) outputs[output->name()] = values.at(output);
  return outputs;
}

TEST(OnnxForm, SaysTheSameInEveryOpset) {
  for (const bool old : {true, false}) {
    Graph source = old ? old_forms() : backward_slice();
    Graph normal = evaluation(Model::from_graph(source));
    const auto expected = outputs_of(normal);
    for (const int64_t opset : {9, 17, 18, 21}) {
      Graph graph = normal.clone();
      graph.opsets[""] = opset;
      to_onnx_form(graph);
      const Model file = Model::from_graph(graph);
      if (opset <= 17) {  // the checker knows no newer ones
        EXPECT_EQ(checker_message(file.bytes()), "");
      }
      const auto found = outputs_of(evaluation(file));
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& [name, tensor] : expected) EXPECT_TRUE(same_bits(found.at(name), tensor)) << name << opset;
    }
  }
}

TEST(OnnxForm, AxesAreWrittenAsTheOpsetHasThem) {
  Graph normal = evaluation(Model::from_graph(old_forms()));
  const auto inputs = [&](int64_t opset, const std::string& name) {
    Graph graph = normal.clone();
    graph.opsets[""] = opset;
    to_onnx_form(graph);
    return graph.find_value(name)->producer()->inputs().size();
  };
  EXPECT_EQ(inputs(17, "ReduceSum.last"), 2u);
  EXPECT_EQ(inputs(17, "ReduceMax.last"), 1u);
  EXPECT_EQ(inputs(18, "ReduceMax.last"), 2u);
}

}  // namespace
}  // namespace onward::test
