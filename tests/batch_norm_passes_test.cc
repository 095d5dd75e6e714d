#include <cmath>

#include "graph/print.h"
#include "graph/scalars.h"
#include "passes/batch_norm_lowering.h"
#include "passes/batch_norm_mode.h"
#include "tests/support/expect_error.h"
#include "tests/support/net.h"
#include "tests/support/tensors.h"

namespace onward::test {
namespace {

// y = bn(x) on [rows, 1] and loss = sum(dy * y), so that dy is the gradient of y.
Graph bn_of_column(int64_t rows) {
  Net net;
  Value* x = net.input("x", {rows, 1});
  Value* y = net.batch_norm(x, "bn", {{"epsilon", 1e-5}, {"momentum", 0.9}});
  net.graph.find_value("bn.scale")->data = tensor_of(DType::kFloat64, {1}, {1});
  net.graph.find_value("bn.bias")->data = tensor_of(DType::kFloat64, {1}, {0});
  Value* weighted = net.op("Mul", {y, net.input("dy", {rows, 1})}, "weighted");
  net.graph.add_output(*net.op("ReduceSum", {weighted}, kLossOutput, {{"axes", Shape{}}, {"keepdims", int64_t{0}}}));
  return std::move(net.graph);
}

HostTensor column(const std::vector<double>& values) {
  return tensor_of(DType::kFloat64, {static_cast<int64_t>(values.size()), 1}, values);
}

ProgramOptions keeping_gradients() {
  ProgramOptions options;
  options.optimizer = OptimizerKind::kSgd;
  options.keep_gradients = true;
  return options;
}

Program mode_pass_only(const Graph& graph, const ProgramOptions& options, const ProgramRequest& request) {
  Program program{graph.clone(), {}, {}};
  PassContext context{.options = options, .request = request, .registry = registry()};
  run_passes(program.graph,
             {{.name = "given", .run = [](Graph&, PassContext&) {}, .ensures = {"static"}}, batch_norm_mode_pass()},
             context);
  program.facts = context.facts;
  return program;
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const auto& node : graph.nodes()) ops.push_back(node->op().name);
  return ops;
}

TEST(BatchNorm, A1_UnevenSharesAreWeightedByCount) {
  for (const bool unbiased : {false, true}) {
    ProgramOptions options = keeping_gradients();
    options.unbiased_running_variance = unbiased;
    Trainer trainer(bn_of_column, options, {3, 1});
    const std::vector<double> y{-0.848528, -0.565685, -0.282843, 1.697056};
    for (std::size_t i = 0; i < y.size(); ++i) {  // read y_i off the loss
      std::vector<double> dy(4);
      dy[i] = 1;
      const NamedTensors out = trainer.step({{"x", column({1, 2, 3, 10})}, {"dy", column(dy)}}, 0);
      EXPECT_NEAR(out.at(kLossOutput).to_double()[0], y[i], 1e-6);
      if (i > 0) continue;
      EXPECT_NEAR(trainer.replicas.stored("bn.running_mean").to_double()[0], 0.4, 1e-12);
      EXPECT_NEAR(trainer.replicas.stored("bn.running_var", 1).to_double()[0], unbiased ? 2.566667 : 2.15, 1e-6);
    }
  }
}

Attributes of_normalization;

Graph bn_of_given_attributes(int64_t rows) {
  Net net;
  Value* y = net.batch_norm(net.input("x", {rows, 1}), "bn", of_normalization);
  net.graph.find_value("bn.scale")->data = tensor_of(DType::kFloat64, {1}, {1});
  net.graph.find_value("bn.bias")->data = tensor_of(DType::kFloat64, {1}, {0});
  net.loss_sum(net.op("Mul", {y, net.input("dy", {rows, 1})}, "weighted"));
  return std::move(net.graph);
}

// Two values 2 apart from each other in thousandths: the variance is 1e-6, small beside epsilon.
TEST(BatchNorm, EpsilonAndMomentumAreTheFilesOrOnnxs) {
  struct Case {
    Attributes attributes;
    double epsilon, momentum;
  };
  for (const Case& c : {Case{{}, 1e-5, 0.9}, Case{{{"epsilon", 1e-3}, {"momentum", 0.75}}, 1e-3, 0.75}}) {
    of_normalization = c.attributes;
    Trainer trainer(bn_of_given_attributes, keeping_gradients(), {1, 1});
    const NamedTensors out = trainer.step({{"x", column({0.001, 0.003})}, {"dy", column({0, 2})}}, 0);
    EXPECT_NEAR(out.at(kLossOutput).to_double()[0], 0.001 / std::sqrt(1e-6 + c.epsilon), 1e-9);
    EXPECT_NEAR(trainer.replicas.stored("bn.running_mean").to_double()[0], 0.002 * (1 - c.momentum), 1e-12);
  }
}

TEST(BatchNorm, A2_BackwardSumsOverTheGlobalCount) {
  ProgramOptions options = keeping_gradients();
  options.input_gradients = true;
  options.replicas = 2;
  const Graph first = make_program(bn_of_column(3), options, {.local_batch = 3, .global_batch = 4}).graph;
  const Graph second = make_program(bn_of_column(1), options, {.local_batch = 1, .global_batch = 4}).graph;
  LockStep replicas(2);
  const HostTensor rate = HostTensor::scalar<double>(0);
  const auto out = replicas.run({&first, &second},
                                {{{"x", column({1, 2, 3})}, {"dy", column({1, 0, 0})}, {"onward.learning_rate", rate}},
                                 {{"x", column({10})}, {"dy", column({2})}, {"onward.learning_rate", rate}}});
  EXPECT_TRUE(all_close(out[0].at(gradient_name("x")), column({0.223446, -0.110309, -0.161220}), 0, 1e-6));
  EXPECT_TRUE(all_close(out[1].at(gradient_name("x")), column({0.048083}), 0, 1e-6));
  EXPECT_NEAR(out[0].at(gradient_name("bn.scale")).to_double()[0], 2.545583, 1e-6);
  EXPECT_NEAR(out[1].at(gradient_name("bn.bias")).to_double()[0], 3, 1e-12);
  // Statistics, sums of the gradient, and the metrics: dscale and dbias need no reduction of their own.
  EXPECT_THAT(replicas.collectives(),
              testing::ElementsAre(testing::StartsWith("AllGather 0"), testing::StartsWith("AllReduce 1"),
                                   testing::StartsWith("AllReduce 2: float64[]")));
}

TEST(BatchNorm, A3_OneValuePerReplicaIsNormalisedOverTheGlobalBatch) {
  Trainer trainer(bn_of_column, keeping_gradients(), {1, 1});
  const NamedTensors first = trainer.step({{"x", column({2, 4})}, {"dy", column({1, 0})}}, 0);
  EXPECT_NEAR(first.at(kLossOutput).to_double()[0], -0.999995, 1e-6);
  const NamedTensors second = trainer.step({{"x", column({2, 4})}, {"dy", column({0, 1})}}, 0);
  EXPECT_NEAR(second.at(kLossOutput).to_double()[0], 0.999995, 1e-6);
}

TEST(BatchNorm, A3_OneValuePerChannelInTheWholeBatchIsAnError) {
  const std::string advice = "Use --drop-last";
  expect_error(ErrorKind::kModel, "bn (BatchNormalization): expected at least 2 values per channel",
               [&] { make_program(bn_of_column(1), keeping_gradients(), {.local_batch = 1}); });
  expect_error(ErrorKind::kModel, advice,
               [&] { make_program(bn_of_column(1), keeping_gradients(), {.local_batch = 1}); });
  ProgramOptions two = keeping_gradients();
  two.replicas = 2;
  // 129 samples in batches of 128 leave one: replica 0 has it, replica 1 has none.
  for (int64_t rows : {1, 0}) {
    expect_error(ErrorKind::kModel, advice,
                 [&] { make_program(bn_of_column(rows), two, {.local_batch = rows, .global_batch = 1}); });
  }
  make_program(bn_of_column(1), two, {.local_batch = 1, .global_batch = 2});
  two.batch_norm = BatchNormMode::kLocal;
  expect_error(ErrorKind::kModel, "found 1 in the share of one sample (float64[1,1]). Use --bn sync",
               [&] { make_program(bn_of_column(1), two, {.local_batch = 1, .global_batch = 2}); });
}

TEST(BatchNorm, B6_RunningStatisticsFollowTheChosenRule) {
  const std::vector<double> rows{1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7};
  for (const bool unbiased : {false, true}) {
    ProgramOptions options = keeping_gradients();
    options.unbiased_running_variance = unbiased;
    Trainer trainer(bn_of_column, options, {16});
    trainer.step({{"x", column(rows)}, {"dy", column(std::vector<double>(16))}}, 0);
    EXPECT_NEAR(trainer.replicas.stored("bn.running_var").to_double()[0], unbiased ? 1.166667 : 1.15, 1e-6);
    EXPECT_NEAR(trainer.replicas.stored("bn.running_mean").to_double()[0], 0.4, 1e-12);
  }
}

TEST(BatchNorm, SynchronisedIsAVisibleNodeWithSeveralReplicasOnly) {
  ProgramOptions options;
  EXPECT_THAT(ops_of(mode_pass_only(bn_of_column(4), options, {}).graph), testing::Contains("BatchNormalization"));
  options.replicas = 3;
  const Program program = mode_pass_only(bn_of_column(4), options, {});
  EXPECT_THAT(print(program.graph), testing::HasSubstr("onward::SyncBatchNormalization("));
  EXPECT_THAT(program.facts,
              testing::ElementsAre("batch normalization: statistics of the global batch, over 3 replicas (1 nodes)"));
}

TEST(BatchNorm, LocalModesKeepEveryReplicasOwnStatistics) {
  ProgramOptions options = keeping_gradients();
  for (BatchNormMode mode : {BatchNormMode::kLocal, BatchNormMode::kRank0}) {
    options.batch_norm = mode;
    options.replicas = 2;
    const Program program = make_program(bn_of_column(2), options, {.local_batch = 2, .global_batch = 4});
    EXPECT_EQ(program.graph.find_value("bn.running_mean")->distribution, Distribution::kLocal);
    Trainer trainer(bn_of_column, options, {2, 2});
    trainer.step({{"x", column({1, 3, 10, 30})}, {"dy", column({0, 0, 0, 0})}}, 0);
    EXPECT_NEAR(trainer.replicas.stored("bn.running_mean", 0).to_double()[0], 0.2, 1e-12);
    EXPECT_NEAR(trainer.replicas.stored("bn.running_mean", 1).to_double()[0], 2.0, 1e-12);
  }
}

TEST(BatchNorm, InferenceFormIsLeftAlone) {
  Graph graph = bn_of_column(2);
  Node* bn = graph.find_value("bn")->producer();
  graph.clear_updates();
  graph.drop_outputs_from(*bn, 1);
  bn->attributes.set("training_mode", int64_t{0});
  const Program program = make_program(graph, keeping_gradients(), {.local_batch = 2});
  EXPECT_THAT(ops_of(program.graph), testing::Contains("BatchNormalization"));
  EXPECT_THAT(ops_of(program.graph), testing::Contains("BatchNormalizationInferenceGrad"));
}

TEST(BatchNorm, LoweringKeepsNamesAndLeavesNoWholeNode) {
  ProgramOptions options = keeping_gradients();
  options.replicas = 2;
  options.input_gradients = true;
  const Program program = make_program(bn_of_column(2), options, {.local_batch = 2, .global_batch = 4});
  const std::vector<std::string> ops = ops_of(program.graph);
  EXPECT_THAT(ops, testing::Not(testing::Contains(testing::HasSubstr("BatchNormalization"))));
  for (const char* op : {"BatchNormStatistics", "AllGather", "BatchNormFinalize", "BatchNormApply",
                         "BatchNormGradReduce", "AllReduce", "BatchNormGradApply", "BatchNormGradParameters"}) {
    EXPECT_THAT(ops, testing::Contains(op));
  }
  EXPECT_EQ(program.graph.find_value("bn")->producer()->op().name, "BatchNormApply");
}

Graph bn_with_another_momentum(int64_t rows) {
  Graph graph = bn_of_column(rows);
  graph.find_value("bn")->producer()->attributes.set("momentum", 0.7);
  return graph;
}

TEST(BatchNorm, B2_RunningStatisticsFollowTheFilesMomentumAtEveryStep) {
  Trainer trainer(bn_with_another_momentum, keeping_gradients(), {3, 1});
  double mean = 0, variance = 1;
  for (int step = 0; step < 3; ++step) {
    const double s = step;
    trainer.step({{"x", column({1 + s, 2 + s, 3 + s, 10 + s})}, {"dy", column({0, 0, 0, 0})}}, 0);
    mean = 0.7 * mean + 0.3 * (4 + s);
    variance = 0.7 * variance + 0.3 * 12.5;
    for (const std::size_t r : {std::size_t{0}, std::size_t{1}}) {
      EXPECT_NEAR(trainer.replicas.stored("bn.running_mean", r).to_double()[0], mean, 1e-12);
      EXPECT_NEAR(trainer.replicas.stored("bn.running_var", r).to_double()[0], variance, 1e-12);
    }
  }
}

}  // namespace
}  // namespace onward::test
