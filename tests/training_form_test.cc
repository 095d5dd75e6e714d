#include "passes/training_form.h"

#include "graph/print.h"
#include "passes/dropout.h"
#include "passes/specialise.h"
#include "tests/support/expect_error.h"
#include "tests/support/pass_driver.h"

namespace onward::test {
namespace {

constexpr int64_t kEvaluationOutputs = 1, kTrainingOutputs = 5;

// x -> BatchNormalization -> y as an opset writes it: outputs tell training before 14, training_mode from 14 on.
Graph batch_norm(int64_t opset, const std::vector<std::string>& outputs, Attributes attributes = {}) {
  Graph graph;
  graph.opsets[""] = opset;
  Value& x = add_image_input(graph, "x", {Dim("N"), 2, 4, 4});
  std::vector<Value*> inputs{&x};
  for (const char* name : {"scale", "bias", "mean", "var"})
    inputs.push_back(&graph.add_data(name, HostTensor::from<float>({2}, {1, 2})));
  Node& node = graph.add_node({"", "BatchNormalization"}, inputs, outputs, std::move(attributes));
  graph.add_output(*node.output(0));
  return graph;
}

struct Form {
  int64_t opset;
  std::vector<std::string> outputs;
  Attributes attributes;
};

std::vector<Form> forms() {
  return {{7, {"y"}, {{"spatial", int64_t{1}}}},
          {9, {"y"}, {}},
          {9, {"y", "m", "v", "sm", "sv"}, {}},
          {14, {"y"}, {}},
          {14, {"y", "m", "v"}, {{"training_mode", int64_t{1}}}},
          {15, {"y", "m", "v"}, {{"training_mode", int64_t{1}}}},
          {17, {"y"}, {{"training_mode", int64_t{0}}}}};
}

std::string in_form(const Form& form, ProgramMode mode, ProgramOptions options = {}) {
  Graph graph = batch_norm(form.opset, form.outputs, form.attributes);
  PassDriver driver(std::move(options), {.mode = mode, .local_batch = 3});
  driver.prepare_and_run(graph, {specialise_pass(), training_form_pass()});
  const Node* node = graph.find_value("y")->producer();
  std::string text = std::to_string(node->outputs().size()) + " " + to_string(node->attributes);
  for (const StateUpdate& update : graph.updates()) {
    text += " " + update.state->name() + "<-" + std::to_string(update.updated->producer_index());
  }
  return text;
}

TEST(TrainingForm, B4_EveryOpsetGivesOneTrainingForm) {
  for (const Form& form : forms()) {
    EXPECT_EQ(in_form(form, ProgramMode::kTrain), "5 training_mode=1 mean<-1 var<-2") << "opset " << form.opset;
  }
}

TEST(TrainingForm, B4_EveryOpsetGivesOneEvaluationForm) {
  for (const Form& form : forms()) {
    EXPECT_EQ(in_form(form, ProgramMode::kEvaluate), "1 training_mode=0") << "opset " << form.opset;
  }
}

TEST(TrainingForm, KeepsTheFormOfTheFileWhenAsked) {
  const ProgramOptions keep{.keep_file_mode = true};
  EXPECT_EQ(in_form(forms()[2], ProgramMode::kEvaluate, keep), "5 training_mode=1 mean<-1 var<-2");
  EXPECT_EQ(in_form(forms()[6], ProgramMode::kTrain, keep), "1 training_mode=0");
}

TEST(TrainingForm, StatisticsThatAreOutputsOfTheFileKeepTheirNamesInEvaluation) {
  Graph graph = batch_norm(15, {"y", "new_mean", "new_var"}, {{"training_mode", int64_t{1}}});
  graph.add_output(*graph.find_value("new_mean"));
  PassDriver driver({}, {.mode = ProgramMode::kEvaluate, .local_batch = 3});
  driver.prepare_and_run(graph, {specialise_pass(), training_form_pass()});
  ASSERT_EQ(graph.outputs().size(), 2u);
  EXPECT_EQ(graph.outputs()[1]->name(), "new_mean");
  EXPECT_EQ(graph.outputs()[1]->producer()->input(0)->name(), "mean");
  EXPECT_EQ(graph.outputs()[1]->type.text(), "float32[2]");
  EXPECT_EQ(graph.find_value("y")->producer()->outputs().size(), static_cast<std::size_t>(kEvaluationOutputs));
}

TEST(TrainingForm, StatisticsGivenAsInputsAreNotUpdated) {
  Graph graph;
  graph.opsets[""] = 15;
  std::vector<Value*> inputs{&add_image_input(graph, "x", {Dim("N"), 2, 4, 4})};
  for (const char* name : {"scale", "bias", "mean", "var"}) inputs.push_back(&add_image_input(graph, name, {2}));
  graph.add_output(*graph.add_node({"", "BatchNormalization"}, inputs, {"y"}).output(0));
  PassDriver driver({}, {.local_batch = 3});
  driver.prepare_and_run(graph, {specialise_pass(), training_form_pass()});
  EXPECT_TRUE(graph.updates().empty());
  EXPECT_EQ(graph.find_value("y")->producer()->outputs().size(), static_cast<std::size_t>(kTrainingOutputs));
}

HostTensor flag(bool value) { return HostTensor::scalar<uint8_t>(value).cast(DType::kBool); }

// x -> Dropout -> Dropout ... -> Relu -> y; the ratio is an attribute before opset 12 and an input since.
Graph dropouts(int64_t opset, const std::vector<double>& ratios, bool training_mode = false) {
  Graph graph;
  graph.opsets[""] = opset;
  Value* x = &add_image_input(graph, "x", {Dim("N"), 4});
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    std::vector<Value*> inputs{x};
    Attributes attributes;
    const auto ratio = static_cast<float>(ratios[i]);
    if (opset < 12) {
      attributes.set("ratio", ratio);
    } else {
      inputs.push_back(&graph.add_data("ratio", HostTensor::scalar(ratio)));
      inputs.push_back(&graph.add_data("mode", flag(training_mode)));
    }
    const std::string number = std::to_string(i);
    x = graph.add_node({"", "Dropout"}, inputs, {"d" + number, "mask" + number}, attributes).output(0);
  }
  Node& relu = graph.add_node({"", "Relu"}, {x}, {"y"});
  graph.add_output(*relu.output(0));
  return graph;
}

TEST(Dropout, B13_TrainsKeyedByStepRowAndSite) {
  for (const int64_t opset : {7, 10, 12, 13}) {
    Graph graph = dropouts(opset, {0.5, 0, 0.25});
    PassDriver driver({.seed = 9});
    driver.run(graph, dropout_pass());
    EXPECT_EQ(ops_of(graph), "onward::DropoutTrain onward::DropoutTrain Relu") << "opset " << opset;
    const Node* last = graph.find_value("d2")->producer();
    EXPECT_EQ(to_string(last->attributes), "ratio=0.25 seed=9 site=2") << "a ratio of 0 keeps its place in the count";
    EXPECT_EQ(last->input(1)->name(), "onward.random_step");
    EXPECT_EQ(last->input(2)->name(), "onward.sample_offset");
    EXPECT_EQ(last->input(2)->type.text(), "int64[]");
    EXPECT_EQ(graph.inputs().size(), 3u) << "both nodes read the same scalars";
  }
}

TEST(Dropout, B13_IsNothingInEvaluation) {
  Graph graph = dropouts(13, {0.5, 0.5}, true);
  PassDriver driver({}, {.mode = ProgramMode::kEvaluate});
  driver.run(graph, dropout_pass());
  EXPECT_EQ(ops_of(graph), "Relu");
  EXPECT_EQ(graph.find_value("y")->producer()->input(0)->name(), "x");
}

TEST(Dropout, AnOutputOfTheFileKeepsItsName) {
  Graph graph = dropouts(13, {0.5});
  graph.add_output(*graph.find_value("d0"));
  PassDriver driver({}, {.mode = ProgramMode::kEvaluate});
  driver.run(graph, dropout_pass());
  EXPECT_EQ(ops_of(graph), "Identity Relu");
  EXPECT_EQ(graph.outputs()[1]->name(), "d0");
}

TEST(Dropout, KeepsTheModeOfTheFileWhenAsked) {
  for (const bool training_mode : {true, false}) {
    Graph graph = dropouts(13, {0.5}, training_mode);
    PassDriver driver({.keep_file_mode = true});
    driver.run(graph, dropout_pass());
    EXPECT_EQ(ops_of(graph), training_mode ? "onward::DropoutTrain Relu" : "Relu");
  }
  Graph old = dropouts(7, {0.5});
  PassDriver driver({.keep_file_mode = true});
  driver.run(old, dropout_pass());
  EXPECT_EQ(ops_of(old), "Relu") << "opsets 7 to 11 know the inference form only";
}

TEST(Dropout, RefusesBadRatiosComputedRatiosAndReadersOfTheMask) {
  PassDriver driver;
  Graph bad = dropouts(13, {1.0});
  expect_error(ErrorKind::kModel, "a dropout ratio in [0, 1), found 1", [&] { driver.run(bad, dropout_pass()); });
  Graph computed = dropouts(13, {0.5});
  computed.set_input(*computed.find_value("d0")->producer(), 1, &add_image_input(computed, "r", {}));
  expect_error(ErrorKind::kModel, "found the computed value 'r'", [&] { driver.run(computed, dropout_pass()); });
  Graph read = dropouts(13, {0.5});
  read.add_output(*read.find_value("mask0"));
  expect_error(ErrorKind::kModel, "a reader of 'mask0'", [&] { driver.run(read, dropout_pass()); });
}

}  // namespace
}  // namespace onward::test
