// Batch normalization on numbers worked out by hand. Replicas are played by calling the kernels once per share and
// joining what would be gathered or summed.
#include <cmath>

#include "graph/error.h"
#include "ops/batch_norm_lowered/batch_norm_lowered.h"
#include "ops/batch_normalization/batch_normalization.h"
#include "ops/core/distribution_context.h"
#include "ops/core/host_run.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace onward::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

constexpr int kPlain = 0, kBest = 1 << 30;

// Numbers of one channel as a tensor of the type and rank under test.
struct Form {
  DType dtype;
  int rank;
  int priority;

  HostTensor image(const std::vector<double>& values) const {
    Shape shape{static_cast<int64_t>(values.size()), 1};
    shape.resize(static_cast<std::size_t>(rank), 1);
    return tensor_of(dtype, shape, values);
  }
  HostTensor vector(double value) const { return tensor_of(dtype, {1}, {value}); }
  double tolerance() const { return dtype == DType::kFloat64 ? 1e-9 : 1e-5; }
};

std::string form_name(const testing::TestParamInfo<Form>& info) {
  return dtype_name(info.param.dtype) + "_rank" + std::to_string(info.param.rank) +
         (info.param.priority ? "_best" : "_plain");
}

class BatchNorm : public testing::TestWithParam<Form> {
 protected:
  std::vector<MaybeTensor> run(const OpId& op, const std::vector<MaybeTensor>& inputs,
                               const Attributes& attributes = {}, int outputs = 1) const {
    return run_op(op, inputs, attributes, outputs, GetParam().priority);
  }

  HostTensor statistics(const std::vector<double>& x) const {
    return *run(kBatchNormStatistics, {GetParam().image(x)}).front();
  }

  // mean, inv_std, running_mean, running_var, count
  std::vector<MaybeTensor> finalize(const std::vector<std::vector<double>>& shares, bool unbiased = false) const {
    std::vector<double> gathered;
    for (const auto& share : shares) {
      for (double number : statistics(share).to_double()) gathered.push_back(number);
    }
    const auto replicas = static_cast<int64_t>(shares.size());
    return run(kBatchNormFinalize,
               {HostTensor::from<double>({replicas, 3}, gathered), GetParam().vector(0), GetParam().vector(1)},
               {{"epsilon", 1e-5}, {"momentum", 0.9}, {"unbiased", int64_t{unbiased}}}, 5);
  }

  std::vector<double> apply(const std::vector<double>& x, const std::vector<MaybeTensor>& finalized) const {
    return run(kBatchNormApply,
               {GetParam().image(x), finalized[0], finalized[1], GetParam().vector(1), GetParam().vector(0)})
        .front()
        ->to_double();
  }

  void expect_near(const std::vector<double>& found, const std::vector<double>& expected, double absolute) const {
    EXPECT_THAT(found, Pointwise(DoubleNear(absolute), expected));
  }
};

INSTANTIATE_TEST_SUITE_P(Forms, BatchNorm,
                         testing::Values(Form{DType::kFloat64, 2, kPlain}, Form{DType::kFloat64, 4, kPlain},
                                         Form{DType::kFloat32, 4, kPlain}, Form{DType::kFloat32, 2, kBest},
                                         Form{DType::kFloat32, 3, kBest}, Form{DType::kFloat32, 4, kBest}),
                         form_name);

TEST_P(BatchNorm, A1_UnevenSharesAreWeightedByCount) {
  const std::vector<MaybeTensor> all = finalize({{1, 2, 3}, {10}});
  EXPECT_NEAR(all[0]->to_double()[0], 4.0, 4 * GetParam().tolerance());
  EXPECT_NEAR(all[1]->to_double()[0], 1 / std::sqrt(12.5 + 1e-5), GetParam().tolerance());
  EXPECT_EQ(all[4]->to_double()[0], 4);
  expect_near(apply({1, 2, 3}, all), {-0.848528, -0.565685, -0.282843}, 1e-6);
  expect_near(apply({10}, all), {1.697056}, 2e-6);
  EXPECT_NEAR(all[2]->to_double()[0], 0.4, GetParam().tolerance());
  EXPECT_NEAR(all[3]->to_double()[0], 2.15, 2 * GetParam().tolerance());
  EXPECT_NEAR(finalize({{1, 2, 3}, {10}}, true)[3]->to_double()[0], 0.9 + 5.0 / 3, 3 * GetParam().tolerance());
}

TEST_P(BatchNorm, AnEmptyShareChangesNothing) {
  const std::vector<MaybeTensor> without = finalize({{1, 2, 3}, {10}}), with = finalize({{1, 2, 3}, {}, {10}});
  for (std::size_t i = 0; i < without.size(); ++i) EXPECT_TRUE(same_bits(*with[i], *without[i])) << i;
  EXPECT_THAT(statistics({}).to_double(), ElementsAre(0, 0, 0));
}

TEST_P(BatchNorm, A2_BackwardSumsOverTheGlobalCount) {
  const Form form = GetParam();
  const std::vector<MaybeTensor> all = finalize({{1, 2, 3}, {10}});
  const std::vector<std::vector<double>> x{{1, 2, 3}, {10}}, dy{{1, 0, 0}, {2}};
  std::vector<double> sums{0, 0};
  for (std::size_t r = 0; r < 2; ++r) {
    const auto share = run(kBatchNormGradReduce, {form.image(dy[r]), form.image(x[r]), all[0], all[1]},
                           {{"mask", std::string("none")}});
    for (std::size_t k = 0; k < 2; ++k) sums[k] += share[0]->to_double()[k];
  }
  const HostTensor reduced = HostTensor::from<double>({2}, sums);
  const auto parameters = run(kBatchNormGradParameters, {reduced}, {{"to", static_cast<int64_t>(form.dtype)}}, 2);
  EXPECT_NEAR(parameters[0]->to_double()[0], 2.545583, 2e-6);
  EXPECT_NEAR(parameters[1]->to_double()[0], 3, 1e-6);
  std::vector<double> dx;
  for (std::size_t r = 0; r < 2; ++r) {
    const auto share =
        run(kBatchNormGradApply, {form.image(dy[r]), form.image(x[r]), all[0], all[1], form.vector(1), reduced, all[4]},
            {{"mask", std::string("none")}});
    for (double number : share[0]->to_double()) dx.push_back(number);
  }
  expect_near(dx, {0.223446, -0.110309, -0.161220, 0.048083}, 1e-6);
}

TEST_P(BatchNorm, A3_OneValuePerReplicaIsNormalisedByTheGlobalCount) {
  const std::vector<MaybeTensor> all = finalize({{2}, {4}});
  expect_near(apply({2}, all), {-0.999995}, 1e-6);
  expect_near(apply({4}, all), {0.999995}, 1e-6);
}

TEST_P(BatchNorm, A3_OneValueInTheWholeBatchIsAnErrorThatSaysWhatToDo) {
  expect_error(ErrorKind::kModel, "--drop-last", [&] { finalize({{2}}); });
  expect_error(ErrorKind::kModel, "at least 2 values per channel", [&] { finalize({{2}, {}}); });
}

TEST_P(BatchNorm, NoRowsAtAllLeaveTheRunningStatistics) {
  const std::vector<MaybeTensor> none = finalize({{}, {}});
  EXPECT_EQ(none[2]->to_double()[0], 0);
  EXPECT_EQ(none[3]->to_double()[0], 1);
  EXPECT_EQ(none[4]->to_double()[0], 0);
  EXPECT_TRUE(std::isfinite(none[1]->to_double()[0]));
}

TEST_P(BatchNorm, B6_MomentumAndVarianceRules) {
  const std::vector<double> rows{1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7};
  const auto population = finalize({rows}), unbiased = finalize({rows}, true);
  EXPECT_NEAR(population[0]->to_double()[0], 4, 4 * GetParam().tolerance());
  EXPECT_NEAR(statistics(rows).to_double()[1], 2.5 * 16, 40 * GetParam().tolerance());
  EXPECT_NEAR(population[3]->to_double()[0], 1.15, 2 * GetParam().tolerance());
  EXPECT_NEAR(unbiased[3]->to_double()[0], 0.9 + 2.5 * 16 / 15 * 0.1, 2 * GetParam().tolerance());
}

TEST_P(BatchNorm, StatisticsSurviveALargeMean) {
  std::vector<double> x;
  for (int i = 0; i < 5000; ++i) x.push_back(GetParam().dtype == DType::kFloat64 ? 1e9 + (i % 2) : 4096 + (i % 2));
  const std::vector<double> stats = statistics(x).to_double();
  EXPECT_NEAR(stats[1], 1250, 1250 * 1e-6);
}

// ---- whole batch normalization

TEST(BatchNormWhole, B6_TheStandardOpFollowsTheSameRules) {
  const HostTensor x = HostTensor::from<double>({4, 1, 4}, {1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7});
  const auto vector = [](double value) { return HostTensor::from<double>({1}, {value}); };
  for (const bool unbiased : {false, true}) {
    const auto out = run_op(kBatchNormalization, {x, vector(1), vector(0), vector(0), vector(1)},
                            {{"training_mode", int64_t{1}}, {"unbiased", int64_t{unbiased}}}, 5);
    EXPECT_NEAR(out[1]->to_double()[0], 0.4, 1e-12);
    EXPECT_NEAR(out[2]->to_double()[0], unbiased ? 0.9 + 8.0 / 30 : 1.15, 1e-9);
    EXPECT_NEAR(out[3]->to_double()[0], 4, 1e-12);
    EXPECT_NEAR(out[4]->to_double()[0], 1 / std::sqrt(2.5 + 1e-5), 1e-9);
  }
}

TEST(BatchNormWhole, A3_OneValuePerChannelIsAnErrorNamingTheNode) {
  const HostTensor x(DType::kFloat32, {1, 2, 1, 1}), v(DType::kFloat32, {2});
  expect_error(ErrorKind::kModel, "BatchNormalization", [&] {
    run_op(kBatchNormalization, {x, v, v, v, v}, {{"training_mode", int64_t{1}}}, 5);
  });
}

TEST(BatchNormWhole, ChannelVectorsMustFit) {
  const HostTensor x(DType::kFloat32, {2, 3, 4, 4}), three(DType::kFloat32, {3}), four(DType::kFloat32, {4});
  expect_error(ErrorKind::kModel, "float32[3] as input 3", [&] {
    run_op(kBatchNormalization, {x, three, three, four, three});
  });
}

// A node as a file of some opset has it.
struct FileNode {
  Graph graph;
  Node* node;

  FileNode(const std::vector<std::string>& outputs, Attributes attributes) {
    std::vector<Value*> inputs{&graph.add_input("x", {DType::kFloat32, {2, 3, 4, 4}})};
    for (const char* name : {"scale", "bias", "mean", "var"})
      inputs.push_back(&graph.add_data(name, HostTensor(DType::kFloat32, {3})));
    node = &graph.add_node(kBatchNormalization, inputs, outputs, std::move(attributes));
    graph.add_output(*node->output(0));
  }
  void normalise(int64_t opset) {
    NormaliseContext context(graph, *node, opset, false);
    registry().op(node->op()).normalise(context);
    infer_node(*node, registry());
  }
  bool training() const { return node->attributes.get_int("training_mode") != 0; }
};

TEST(BatchNormForms, B4_EveryOpsetComesToOneForm) {
  const std::vector<std::string> one{"y"}, three{"y", "m", "v"}, five{"y", "m", "v", "sm", "sv"};
  struct Case {
    int64_t opset;
    std::vector<std::string> outputs;
    Attributes attributes;
    bool training;
  };
  const std::vector<Case> cases{
      {1, one, {{"is_test", int64_t{1}}, {"consumed_inputs", std::vector<int64_t>{0, 0, 0, 1, 1}}}, false},
      {6, one, {{"is_test", int64_t{1}}, {"spatial", int64_t{1}}}, false},
      {6, five, {}, true},
      {6, five, {{"is_test", int64_t{1}}}, false},
      {7, one, {{"spatial", int64_t{1}}}, false},
      {7, five, {}, true},
      {9, one, {}, false},
      {9, five, {}, true},
      {9, {"y", "m", "v", "", ""}, {}, true},
      {14, one, {}, false},
      {14, three, {{"training_mode", int64_t{1}}}, true},
      {15, three, {{"training_mode", int64_t{1}}}, true},
      {15, one, {{"training_mode", int64_t{1}}}, true},
      {15, {"y", "m", "v"}, {{"training_mode", int64_t{0}}}, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << "opset " << c.opset << ", " << c.outputs.size() << " outputs");
    FileNode file(c.outputs, c.attributes);
    file.normalise(c.opset);
    EXPECT_EQ(file.training(), c.training);
    EXPECT_EQ(file.node->outputs().size(), c.training ? std::min<std::size_t>(3, c.outputs.size()) : 1u);
    for (const char* name : {"spatial", "is_test", "consumed_inputs"}) EXPECT_FALSE(file.node->attributes.has(name));
  }
}

TEST(BatchNormForms, StatisticsPerActivationAreRefused) {
  FileNode file({"y"}, {{"spatial", int64_t{0}}});
  expect_error(ErrorKind::kModel, "spatial=0", [&] { file.normalise(7); });
}

TEST(BatchNormForms, OutputsThatInferenceDoesNotHaveAreRefusedWhenUsed) {
  FileNode file({"y", "m", "v"}, {});
  file.graph.add_output(*file.node->output(1));
  expect_error(ErrorKind::kModel, "one output", [&] { file.normalise(15); });
}

// ---- distribution

Distribution distribution_after(Node& node, std::size_t output) {
  infer_node(node, registry());
  distribute_node(node, 2, registry());
  return node.output(output)->distribution;
}

TEST(BatchNormDistribution, StatisticsOfLocalRowsAreLocalAndSumsPartial) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2, 3, 4, 4}});
  Value& vector = graph.add_data("v", HostTensor(DType::kFloat32, {3}));
  x.distribution = Distribution::kBatchSplit, vector.distribution = Distribution::kReplicated;
  Node& statistics = graph.add_node(kBatchNormStatistics, {&x}, {"stats"});
  EXPECT_EQ(distribution_after(statistics, 0), Distribution::kLocal);
  Node& finalize =
      graph.add_node(kBatchNormFinalize, {statistics.output(0), &vector, &vector}, {"m", "s", "rm", "rv", "n"});
  EXPECT_EQ(distribution_after(finalize, 2), Distribution::kLocal);
  Node& reduce = graph.add_node(kBatchNormGradReduce, {&x, &x, &vector, &vector}, {"sums", "g"});
  EXPECT_EQ(distribution_after(reduce, 0), Distribution::kPartial);
  EXPECT_EQ(reduce.output(1)->distribution, Distribution::kBatchSplit);
  Node& apply = graph.add_node(kBatchNormGradApply,
                               {&x, &x, &vector, &vector, &vector, reduce.output(0), finalize.output(4)}, {"dx"});
  EXPECT_EQ(distribution_after(apply, 0), Distribution::kBatchSplit);
  Node& parameters = graph.add_node(kBatchNormGradParameters, {reduce.output(0)}, {"ds", "db"}, {{"to", int64_t{1}}});
  EXPECT_EQ(distribution_after(parameters, 0), Distribution::kPartial);
}

TEST(BatchNormDistribution, SynchronisedStatisticsAreReplicated) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2, 3, 4, 4}});
  Value& vector = graph.add_data("v", HostTensor(DType::kFloat32, {3}));
  x.distribution = Distribution::kBatchSplit, vector.distribution = Distribution::kReplicated;
  const std::vector<Value*> inputs{&x, &vector, &vector, &vector, &vector};
  Node& sync = graph.add_node(kSyncBatchNormalization, inputs, {"y", "m", "v", "sm", "ss"});
  EXPECT_EQ(distribution_after(sync, 0), Distribution::kBatchSplit);
  EXPECT_EQ(sync.output(1)->distribution, Distribution::kReplicated);
  Node& grad = graph.add_node(kSyncBatchNormalizationGrad, {&x, &x, &vector, &vector, &vector}, {"dx", "ds", "db"});
  EXPECT_EQ(distribution_after(grad, 1), Distribution::kReplicated);
  Node& local = graph.add_node(kBatchNormalizationGrad, {&x, &x, &vector, &vector, &vector}, {"dx2", "ds2", "db2"});
  EXPECT_EQ(distribution_after(local, 1), Distribution::kPartial);
}

// ---- the fast kernels

TEST(BatchNormFast, ForwardAndBackwardAgreeOnWhichElementsReluPasses) {
  const Shape shape{4, 24, 9, 7};
  const auto random = [](const Shape& s, double low, double high, uint64_t seed) {
    return random_tensor(DType::kFloat32, s, low, high, seed);
  };
  const HostTensor x = random(shape, -2, 2, 1), mean = random({24}, -1, 1, 2), inv_std = random({24}, 0.5, 2, 3);
  const HostTensor scale = random({24}, -1, 1, 4), bias = random({24}, -1, 1, 5), dy = random(shape, 0.5, 1, 6);
  const auto y = run_op(kBatchNormApply, {x, mean, inv_std, scale, bias}, {{"relu", int64_t{1}}}).front();
  const auto g =
      run_op(kBatchNormGradReduce, {dy, x, mean, inv_std, scale, bias}, {{"mask", std::string("recompute")}}, 2)[1];
  const auto from_y =
      run_op(kBatchNormGradReduce, {dy, x, mean, inv_std, scale, bias, *y}, {{"mask", std::string("y")}}, 2)[1];
  EXPECT_TRUE(same_bits(*g, *from_y));
}

TEST(BatchNormFast, LongSumsKeepSingleRoundingErrors) {
  const Shape shape{64, 16, 16, 16};
  const HostTensor x = random_tensor(DType::kFloat32, shape, 2, 4, 1),
                   dy = random_tensor(DType::kFloat32, shape, 0, 1, 2);
  const HostTensor mean = tensor_of(DType::kFloat32, {16}, std::vector<double>(16, 3)),
                   inv_std = tensor_of(DType::kFloat32, {16}, std::vector<double>(16, 1.7));
  for (const OpId& op : {kBatchNormStatistics, kBatchNormGradReduce}) {
    const std::vector<MaybeTensor> inputs =
        op == kBatchNormStatistics ? std::vector<MaybeTensor>{x} : std::vector<MaybeTensor>{dy, x, mean, inv_std};
    const auto fast = run_op(op, inputs).front()->to_double(),
               plain = run_op(op, inputs, {}, 1, 0).front()->to_double();
    for (std::size_t i = 0; i < 16; ++i)
      EXPECT_NEAR(fast[i], plain[i], 3e-7 * std::fabs(plain[i])) << to_string(op) << " " << i;
  }
}

}  // namespace
}  // namespace onward::test
