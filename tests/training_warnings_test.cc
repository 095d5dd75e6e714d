#include "passes/training_warnings.h"

#include "models/build_model.h"
#include "models/network.h"
#include "passes/fold_batch_norm.h"
#include "passes/model_program.h"
#include "tests/support/pass_driver.h"

namespace onward::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What training says of the model.
std::vector<std::string> warnings(const Model& model, const ProgramOptions& options = {},
                                  ProgramMode mode = ProgramMode::kTrain) {
  ModelProgram program(model, options);
  program.program(ProgramKey{mode, 2});
  return program.warnings();
}

// As an exporter does it: nothing in the file says so.
Model folded(const std::string& name) {
  Graph graph = build_model({.name = name}).graph();
  EXPECT_GT(fold_batch_norm(graph), 0);
  return Model::from_graph(graph);
}

// `convolutions` of them, in a row.
Model plain_network(int convolutions, const std::string& name = "conv") {
  Network net("plain", "", {3, 8, 8}, 1);
  Value* x = &net.input();
  for (int i = 1; i <= convolutions; ++i) {
    const std::string layer = name + std::to_string(i);
    x = &net.relu(layer + ".relu", net.conv(layer, *x, {.channels = 4, .pad = 1, .bias = true}));
  }
  return Model::from_graph(net.finish(net.linear("fc", net.flatten("flatten", *x), 5)));
}

TEST(TrainingWarnings, B5_AFoldedResNetIsRecognised) {
  const auto found = warnings(folded("resnet8"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], AllOf(HasSubstr("all of its 9 convolutions have a bias"), HasSubstr("it seems"),
                              HasSubstr("--bn sync has nothing to synchronise")));
  EXPECT_THAT(warnings(build_model({.name = "resnet8"})), IsEmpty());
}

TEST(TrainingWarnings, NetworksThatNeverHadBatchNormalizationAreLeftAlone) {
  EXPECT_THAT(warnings(build_model({.name = "lenet"})), IsEmpty());
  EXPECT_THAT(warnings(plain_network(13)), IsEmpty());
}

TEST(TrainingWarnings, NamesTellToo) {
  EXPECT_THAT(warnings(plain_network(5, "bn")), ElementsAre(HasSubstr("with names that folding leaves")));
  EXPECT_THAT(warnings(plain_network(5, "onnx::Conv_")), ElementsAre(HasSubstr("with names that folding leaves")));
  EXPECT_THAT(warnings(plain_network(5, "subnet")), IsEmpty());
  EXPECT_THAT(warnings(plain_network(2, "bn")), IsEmpty());
}

TEST(TrainingWarnings, TheMetadataOfOurOwnExportMakesItCertain) {
  const Graph graph = plain_network(1).graph();
  EXPECT_THAT(warnings(Model::from_graph(graph, {{kFoldedBatchNormKey, "1"}})),
              ElementsAre(HasSubstr("onward export --fold-batch-norm folded BatchNormalization")));
}

TEST(TrainingWarnings, OnlyTrainingWarns) {
  EXPECT_THAT(warnings(folded("resnet8"), {}, ProgramMode::kEvaluate), IsEmpty());
  EXPECT_THAT(warnings(folded("resnet8"), {.loss = LossKind::kNone}), IsEmpty());
}

TEST(TrainingWarnings, UnreadInitializersAreNamed) {
  Graph graph = plain_network(1).graph();
  graph.add_data("left.over", HostTensor::from<float>({2}, {1, 2}));
  graph.add_data("old_shape", HostTensor::from<int64_t>({1}, {3}));
  EXPECT_THAT(warnings(Model::from_graph(graph)),
              ElementsAre(AllOf(HasSubstr("no node reads"), HasSubstr("'left.over', 'old_shape'"))));
}

// `convolutions` of them as folding leaves them, behind `normalizations` that it could not fold.
Model partly_folded(int convolutions, int normalizations) {
  Network net("partly", "", {3, 8, 8}, 1);
  Value* x = &net.input();
  for (int i = 1; i <= normalizations; ++i) {
    x = &net.batch_norm("first" + std::to_string(i), *x);
    x = &net.conv("plain" + std::to_string(i), *x, {.channels = 3, .pad = 1});
    x = &net.batch_norm("second" + std::to_string(i), *x);
  }
  for (int i = 1; i <= convolutions; ++i)
    x = &net.conv("onnx::Conv_" + std::to_string(i), *x, {.channels = 4, .pad = 1, .bias = true});
  return Model::from_graph(net.finish(net.linear("fc", net.flatten("flatten", *x), 5)));
}

TEST(TrainingWarnings, FoldingIsRecognisedWhereAFewNormalizationsAreLeft) {
  EXPECT_THAT(
      warnings(partly_folded(6, 1)),
      ElementsAre(AllOf(HasSubstr("the file has 2 BatchNormalization nodes, and all of its 6 other convolutions"),
                        HasSubstr("--bn sync synchronises what is left"))));
  EXPECT_THAT(warnings(partly_folded(6, 2)), IsEmpty());  // 4 are left of at most 10
  EXPECT_THAT(warnings(partly_folded(4, 1)), IsEmpty());
}

// Two layers that read the tensors of the first.
Model tied_layers() {
  Network net("tied", "", {3, 8, 8}, 1);
  Value& a = net.batch_norm("a", net.input());
  Value& b = net.batch_norm("b", net.relu("relu", a));
  Node &first = *a.producer(), &second = *b.producer();
  Graph graph = net.finish(net.linear("fc", net.flatten("flatten", b), 5));
  for (std::size_t i = 1; i <= 4; ++i) {
    Value& unread = *second.input(i);
    graph.set_input(second, i, first.input(i));
    graph.erase(unread);
  }
  return Model::from_graph(graph);
}

std::vector<std::string> facts_of_training(const Model& model, const ProgramOptions& options) {
  ModelProgram program(model, options);
  program.program(ProgramKey{ProgramMode::kTrain, 2});
  return program.facts();
}

TEST(TrainingWarnings, TensorsTrainedApartAreNamedAndCounted) {
  const std::string names = "'a.bias' as 2, 'a.running_mean' as 2, 'a.running_var' as 2, 'a.weight' as 2; --keep-tied";
  EXPECT_THAT(facts_of_training(tied_layers(), {}), testing::Contains(HasSubstr(names)));
  EXPECT_THAT(warnings(tied_layers()), IsEmpty());
}

TEST(TrainingWarnings, TensorsKeptTiedAreNamedToo) {
  const ProgramOptions tied{.keep_tied = true};
  EXPECT_THAT(facts_of_training(tied_layers(), tied), testing::Not(testing::Contains(HasSubstr("apart"))));
  EXPECT_THAT(warnings(tied_layers(), tied),
              ElementsAre(HasSubstr("'a.weight' is read by 2 nodes"), HasSubstr("'a.bias' is read by 2 nodes")));
}

}  // namespace
}  // namespace onward::test
