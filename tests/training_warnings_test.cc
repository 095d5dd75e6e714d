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

}  // namespace
}  // namespace onward::test
