#include "passes/data_parallel.h"

#include "graph/print.h"
#include "graph/scalars.h"
#include "passes/buckets.h"
#include "passes/check_reductions.h"
#include "passes/distributions.h"
#include "tests/support/expect_error.h"
#include "tests/support/net.h"
#include "tests/support/small_resnet.h"
#include "tests/support/tensors.h"

namespace onward::test {
namespace {

HostTensor vector_of(const std::vector<double>& values) {
  return tensor_of(DType::kFloat64, {static_cast<int64_t>(values.size())}, values);
}

// loss = mean over the global batch of 0.5 * (w * x - t)^2, w = 0
Graph least_squares(int64_t rows) {
  Net net;
  Value* y = net.op("Mul", {net.parameter("w", {1}, std::vector<double>{0}), net.input("x", {rows})}, "y");
  Value* e = net.op("Sub", {y, net.input("t", {rows})}, "e");
  net.loss_sum(net.op("Mul", {net.op("Mul", {e, e}, "ee"), net.constant("half", {}, {0.5})}, "half_squares"));
  return std::move(net.graph);
}

// loss = mean of g_i * w: the gradient of sample i is g_i.
Graph given_gradients(int64_t rows) {
  Net net;
  net.loss_sum(net.op("Mul", {net.input("g", {rows}), net.parameter("w", {1}, std::vector<double>{1})}, "gw"));
  return std::move(net.graph);
}

ProgramOptions sgd() {
  ProgramOptions options;
  options.optimizer = OptimizerKind::kSgd;
  options.keep_gradients = true;
  return options;
}

double number(const HostTensor& tensor) { return tensor.to_double().at(0); }

TEST(DataParallel, A5_UnequalCountsAreWeightedByCount) {
  Trainer trainer(given_gradients, sgd(), {1, 3});
  trainer.step({{"g", vector_of({1, -3, -3, -3})}}, 0.5);
  EXPECT_NEAR(number(trainer.replicas.stored("w")), 2.0, 1e-12);
}

TEST(DataParallel, A6_WorldSizeNeverScalesTheGradient) {
  for (const std::vector<int64_t>& shares :
       std::vector<std::vector<int64_t>>{{4}, {2, 2}, {1, 1, 1, 1}, {3, 1}, {0, 4}}) {
    Trainer trainer(least_squares, sgd(), shares);
    const NamedTensors out = trainer.step({{"x", vector_of({1, 1, 1, 1})}, {"t", vector_of({1, 2, 3, 4})}}, 0.1);
    EXPECT_NEAR(number(out.at(gradient_name("w"))), -2.5, 1e-12);
    EXPECT_NEAR(number(out.at(kLossOutput)), 0.5 * 30 / 4, 1e-12);
    EXPECT_EQ(out.at(kLossOutput).type(), (TensorType{DType::kFloat64, {}}));
  }
}

TEST(DataParallel, A10_AccumulationReducesOnceTheMeanOverBothMicroBatches) {
  // Two samples a replica: one in each micro-batch; gradients (1,2) on replica 0 and (3,5) on replica 1.
  Trainer trainer(given_gradients, sgd(), {2, 2});
  const NamedTensors out = trainer.step({{"g", vector_of({1, 3, 2, 5})}}, 1, 2);
  EXPECT_NEAR(number(out.at(gradient_name("w"))), 2.75, 1e-12);
  EXPECT_NEAR(number(out.at(kLossOutput)), 2.75, 1e-12);  // of the whole step
  EXPECT_NEAR(number(trainer.replicas.stored("w", 0)), 1 - 2.75, 1e-12);
  EXPECT_NEAR(number(trainer.replicas.stored("w", 1)), 1 - 2.75, 1e-12);
  EXPECT_EQ(trainer.replicas.collectives().size(), 2u);  // the gradient and the metrics, once each
}

TEST(DataParallel, A10_FourMicroBatchesEqualOneBatch) {
  const NamedTensors batch{{"x", vector_of({1, 2, 3, 4, 5, 6, 7, 8})}, {"t", vector_of({1, 0, 2, 0, 3, 0, 4, 0})}};
  Trainer whole(least_squares, sgd(), {4, 4}), parts(least_squares, sgd(), {4, 4});
  for (int i = 0; i < 3; ++i) {
    const NamedTensors a = whole.step(batch, 0.01), b = parts.step(batch, 0.01, 4);
    EXPECT_TRUE(all_close(b.at(kLossOutput), a.at(kLossOutput), 1e-12));
  }
  EXPECT_TRUE(all_close(parts.replicas.stored("w"), whole.replicas.stored("w"), 1e-12));
}

TEST(DataParallel, A11_TheReducedGradientIsClippedOnce) {
  ProgramOptions options = sgd();
  options.clip_norm = 1;
  Trainer below(given_gradients, options, {1, 1});
  below.step({{"g", vector_of({0.8, 0.8})}}, 1);
  EXPECT_NEAR(number(below.replicas.stored("w")), 1 - 0.8, 1e-12);
  Trainer above(given_gradients, options, {1, 1});
  const NamedTensors out = above.step({{"g", vector_of({3, 5})}}, 1);
  EXPECT_NEAR(number(above.replicas.stored("w")), 1 - 4.0 / (4 + 1e-6), 1e-12);
  EXPECT_NEAR(number(out.at(gradient_name("w"))), 4, 1e-12);  // as it was before
}

TEST(DataParallel, ClipsByValue) {
  ProgramOptions options = sgd();
  options.clip_value = 0.5;
  Trainer trainer(given_gradients, options, {1, 1});
  trainer.step({{"g", vector_of({-3, -5})}}, 1);
  EXPECT_NEAR(number(trainer.replicas.stored("w")), 1.5, 1e-12);
}

// loss = mean over the rows of x*w: the gradient of w is the mean row.
Graph row_gradient(int64_t rows) {
  Net net;
  net.loss_sum(net.op("Mul", {net.input("x", {rows, 2}), net.parameter("w", {2}, {0, 0})}, "xw"));
  return std::move(net.graph);
}

// (4, 3) has norm 5, so (0.8, 0.6) is left, of which each element is limited then.
TEST(DataParallel, ClipsByNormBeforeValue) {
  ProgramOptions options = sgd();
  options.clip_norm = 1;
  options.clip_value = 0.7;
  Trainer trainer(row_gradient, options, {1, 1});
  trainer.step({{"x", tensor_of(DType::kFloat64, {2, 2}, {8, 0, 0, 6})}}, 1);
  EXPECT_TRUE(all_close(trainer.replicas.stored("w"), tensor_of(DType::kFloat64, {2}, {-0.7, -0.6}), 1e-6));
}

TEST(DataParallel, ANonFiniteStepChangesNothing) {
  ProgramOptions options = sgd();
  options.non_finite = NonFinite::kSkip;
  options.clip_value = 1;  // would hide an infinity
  options.optimizer = OptimizerKind::kAdam;
  Trainer trainer(given_gradients, options, {1, 1});
  trainer.step({{"g", vector_of({1, 1})}}, 1);
  const NamedTensors before = trainer.replicas.store(0);
  trainer.step({{"g", vector_of({1, std::numeric_limits<double>::infinity()})}}, 1);
  for (const auto& [name, tensor] : before) EXPECT_TRUE(same_bits(trainer.replicas.stored(name, 1), tensor)) << name;
  trainer.step({{"g", vector_of({1, 1})}}, 1);
  EXPECT_FALSE(same_bits(trainer.replicas.stored("w"), before.at("w")));
}

TEST(DataParallel, ANonFiniteStepKeepsRunningStatisticsAndAFiniteOneMovesThem) {
  ProgramOptions guarded = sgd();
  guarded.non_finite = NonFinite::kSkip;
  Trainer with(small_resnet, guarded, {2, 2}), without(small_resnet, sgd(), {2, 2});
  NamedTensors batch = small_resnet_batch(4, 1);
  with.step(batch, 0.1);
  without.step(batch, 0.1);
  const NamedTensors before = with.replicas.store(0);
  for (const auto& [name, tensor] : without.replicas.store(0)) EXPECT_TRUE(same_bits(before.at(name), tensor)) << name;
  batch.at("x").edit_values<double>()[0] = std::nan("");
  with.step(batch, 0.1);
  for (const auto& [name, tensor] : before) EXPECT_TRUE(same_bits(with.replicas.stored(name, 1), tensor)) << name;
}

// loss = mean of x*w + z*v: each parameter has a gradient of its own.
Graph two_gradients(int64_t rows) {
  Net net;
  Value* xw = net.op("Mul", {net.input("x", {rows}), net.parameter("w", {1}, std::vector<double>{1})}, "xw");
  Value* zv = net.op("Mul", {net.input("z", {rows}), net.parameter("v", {1}, std::vector<double>{1})}, "zv");
  net.loss_sum(net.op("Add", {xw, zv}, "y"));
  return std::move(net.graph);
}

TEST(DataParallel, OneNonFiniteGradientSkipsTheStepOfAll) {
  ProgramOptions options = sgd();
  options.non_finite = NonFinite::kSkip;
  const HostTensor bad = vector_of({1, std::numeric_limits<double>::infinity()}), good = vector_of({1, 1});
  Trainer trainer(two_gradients, options, {1, 1});
  for (const bool first : {true, false}) {
    const NamedTensors out = trainer.step({{"x", first ? bad : good}, {"z", first ? good : bad}}, 1);
    EXPECT_EQ(number(out.at(kFiniteOutput)), 0);
    EXPECT_EQ(number(trainer.replicas.stored("w")), 1);
    EXPECT_EQ(number(trainer.replicas.stored("v")), 1);
  }
  EXPECT_EQ(number(trainer.step({{"x", good}, {"z", good}}, 1).at(kFiniteOutput)), 1);
  EXPECT_EQ(number(trainer.replicas.stored("w")), 0);
}

TEST(DataParallel, ANonFiniteMicroBatchKeepsRunningStatistics) {
  ProgramOptions options = sgd();
  options.non_finite = NonFinite::kSkip;
  Trainer trainer(small_resnet, options, {4, 4});
  NamedTensors batch = small_resnet_batch(8, 1);
  trainer.step(batch, 0.1, 2);
  NamedTensors before = trainer.replicas.store(0);
  std::erase_if(before, [](const auto& entry) { return entry.first.starts_with(kAccumulatedPrefix); });
  batch.at("x").edit_values<double>()[0] = std::nan("");  // of the first micro-batch
  // A micro-batch moves the statistics if its own values allow it: only the second may do so.
  trainer.step(batch, 0.1, 2);
  for (const auto& [name, tensor] : before) {
    for (const double value : trainer.replicas.stored(name, 1).to_double()) EXPECT_TRUE(std::isfinite(value)) << name;
    if (name.ends_with(".running_mean") || name.ends_with(".running_var")) continue;
    EXPECT_TRUE(same_bits(trainer.replicas.stored(name, 1), tensor)) << name;
  }
}

TEST(DataParallel, ANonFiniteStepMayOnlyBeReported) {
  ProgramOptions options = sgd();
  options.non_finite = NonFinite::kReport;
  for (const int micro_batches : {1, 2}) {
    Trainer trainer(given_gradients, options, {2, 2});
    EXPECT_EQ(number(trainer.step({{"g", vector_of({1, 1, 1, 1})}}, 1, micro_batches).at(kFiniteOutput)), 1);
    const double infinity = std::numeric_limits<double>::infinity();
    const NamedTensors out = trainer.step({{"g", vector_of({1, infinity, 1, 1})}}, 1, micro_batches);
    EXPECT_EQ(number(out.at(kFiniteOutput)), 0);
    EXPECT_EQ(number(trainer.replicas.stored("w")), -infinity);
  }
}

TEST(DataParallel, ANonFiniteMicroBatchSkipsTheWholeStep) {
  ProgramOptions options = sgd();
  options.non_finite = NonFinite::kSkip;
  Trainer trainer(given_gradients, options, {2, 2});
  trainer.step({{"g", vector_of({std::nan(""), 1, 1, 1})}}, 1, 2);
  EXPECT_EQ(number(trainer.replicas.stored("w")), 1);
}

TEST(DataParallel, OneReplicaNeedsNoCollective) {
  Trainer trainer(least_squares, sgd(), {4});
  trainer.step({{"x", vector_of({1, 1, 1, 1})}, {"t", vector_of({1, 2, 3, 4})}}, 0.1);
  EXPECT_TRUE(trainer.replicas.collectives().empty());
}

TEST(DataParallel, A13_EvaluationHasNoCollective) {
  ProgramOptions options;
  options.replicas = 4;
  Graph graph = least_squares(3);
  PassContext context{
      .options = options, .request = {.mode = ProgramMode::kEvaluate, .local_batch = 3}, .registry = registry()};
  run_passes(
      graph,
      {{.name = "given", .run = [](Graph&, PassContext&) {}, .ensures = {"static", "lowered"}}, data_parallel_pass()},
      context);
  for (const auto& node : graph.nodes()) EXPECT_FALSE(registry().op(node->op()).communicates);
}

// ---- buckets

// Layers of 1024 numbers each: 8 KiB in fp64.
Graph chain(int64_t rows) {
  Net net;
  Value* x = net.input("x", {rows, 1024});
  for (int i = 0; i < 10; ++i)
    x = net.op("Mul", {x, net.parameter("w" + std::to_string(i), {1024}, 0.9, 1.1)}, "y" + std::to_string(i));
  net.loss_sum(x);
  return std::move(net.graph);
}

TEST(Buckets, FollowBackwardWithASmallFirstOne) {
  ProgramOptions options = sgd();
  options.first_bucket_mib = 8.0 / 1024;
  options.bucket_mib = 33.0 / 1024;
  options.replicas = 2;
  options.keep_gradients = false;
  const Graph graph = make_program(chain(2), options, {.local_batch = 2}).graph;
  std::vector<std::string> buckets;
  for (const auto& node : graph.nodes()) {
    if (!node->is("AllReduce", kOnwardDomain)) continue;
    std::string text = std::to_string(node->attributes.get_int("collective")) + ":";
    for (const Value* value : node->inputs()) text += " " + value->name().substr(gradient_name("").size(), 2);
    buckets.push_back(text);
  }
  EXPECT_EQ(buckets, (std::vector<std::string>{"0: w9", "1: w8 w7 w6 w5", "2: w4 w3 w2 w1", "3: w0", "4: l"}));
}

TEST(Buckets, AreReducedAsSoonAsTheirLastMemberIsMade) {
  ProgramOptions options = sgd();
  options.first_bucket_mib = options.bucket_mib = 8.0 / 1024;
  options.replicas = 2;
  const Graph graph = make_program(chain(2), options, {.local_batch = 2}).graph;
  const Node* previous = nullptr;
  for (const auto& node : graph.nodes()) {
    if (node->origin.starts_with("gradient bucket")) {
      EXPECT_EQ(previous, node->input(0)->producer()) << node->origin;
    }
    previous = node.get();
  }
}

TEST(Buckets, StepsComeLastOneForEachBucket) {
  ProgramOptions options = sgd();
  options.first_bucket_mib = options.bucket_mib = 8.0 / 1024;
  options.replicas = 2;
  const Graph graph = make_program(chain(2), options, {.local_batch = 2}).graph;
  std::vector<Node*> nodes = graph.node_list();
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(nodes[nodes.size() - 1 - i]->op().name, "SgdStep");
}

// What every replica issues, in order.
std::vector<std::string> collectives_of(const Graph& graph) {
  std::vector<std::string> list;
  for (const auto& node : graph.nodes()) {
    if (!registry().op(node->op()).communicates) continue;
    std::string text = node->op().name + " " + std::to_string(node->attributes.get_int("collective"));
    for (const Value* value : node->inputs()) text += " " + value->name() + value->type.text();
    list.push_back(text);
  }
  return list;
}

// A net in which the single row of a batch changes what backward has to emit: broadcast biases and scales.
Graph mixed(int64_t rows) {
  Net net;
  Value* x = net.input("x", {rows, 3, 4, 4});
  x = net.op("Relu", {net.batch_norm(net.conv(x, "c1", 4, 3), "b1")}, "r1");
  x = net.op("Relu", {net.op("Add", {net.batch_norm(net.conv(x, "c2", 4, 3), "b2"), x}, "a2")}, "r2");
  x = net.op("GlobalAveragePool", {x}, "pool");
  x = net.op("Flatten", {x}, "flat", {{"axis", int64_t{1}}});
  x = net.op("Mul", {x, net.parameter("gain", {1, 4})}, "gained");
  x = net.op("Gemm", {x, net.parameter("fc.w", {4, 5})}, "fc", {{"alpha", 1.0}, {"beta", 1.0}});
  net.cross_entropy(net.op("Add", {x, net.parameter("fc.bias", {1, 5})}, "scores"));
  return std::move(net.graph);
}

// Running statistics are written over in place.
TEST(DataParallel, AReportHoldsNoUpdateBack) {
  ProgramOptions options = sgd();
  options.replicas = 2;
  const auto selects = [&](NonFinite non_finite) {
    options.non_finite = non_finite;
    const Graph graph = make_program(mixed(2), options, {.local_batch = 2, .global_batch = 4}).graph;
    return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                         [](const auto& node) { return node->is("Select", kOnwardDomain); });
  };
  EXPECT_EQ(selects(NonFinite::kSkip), 4);
  EXPECT_EQ(selects(NonFinite::kReport), 0);
}

TEST(DataParallel, TheOrderOfCollectivesDoesNotDependOnTheBatch) {
  ProgramOptions options = sgd();
  options.replicas = 3;
  options.first_bucket_mib = options.bucket_mib = 0.1 / 1024;
  for (BatchNormMode mode : {BatchNormMode::kSync, BatchNormMode::kLocal}) {
    options.batch_norm = mode;
    const auto expected = collectives_of(make_program(mixed(5), options, {.local_batch = 5, .global_batch = 15}).graph);
    EXPECT_GE(expected.size(), 6u);
    for (int64_t rows : {0, 1, 2}) {
      EXPECT_EQ(collectives_of(make_program(mixed(rows), options, {.local_batch = rows, .global_batch = 15}).graph),
                expected)
          << rows;
    }
  }
}

// ---- k replicas against one

NamedTensors random_batch(const std::string& seed, int64_t rows) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < rows; ++i) labels.push_back((i * 7 + static_cast<int64_t>(seed.size())) % 5);
  return {{"x", random_tensor(DType::kFloat64, {rows, 3, 4, 4}, -1, 1, std::hash<std::string>()(seed))},
          {"label", HostTensor::from<int64_t>({rows}, labels)}};
}

// Three steps on one replica and on several: the same loss and the same parameters, state and moments.
void expect_same_training(ProgramOptions options, const std::vector<int64_t>& shares, int micro_batches = 1) {
  Trainer one(mixed, options, {8}), several(mixed, options, shares);
  for (int step = 0; step < 3; ++step) {
    const NamedTensors batch = random_batch(std::string(static_cast<std::size_t>(step + 1), 's'), 8);
    const NamedTensors a = one.step(batch, 0.1), b = several.step(batch, 0.1, micro_batches);
    EXPECT_TRUE(all_close(b.at(kLossOutput), a.at(kLossOutput), 1e-10));
  }
  for (const auto& [name, tensor] : one.replicas.store()) {
    for (std::size_t r = 0; r < shares.size(); ++r) {
      EXPECT_TRUE(all_close(several.replicas.stored(name, r), tensor, 1e-10)) << name;
      EXPECT_TRUE(same_bits(several.replicas.stored(name, r), several.replicas.stored(name, 0))) << name;
    }
  }
}

TEST(DataParallel, A6_SeveralReplicasTrainAsOne) {
  for (OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kMomentum, OptimizerKind::kNesterov, OptimizerKind::kAdamW}) {
    ProgramOptions options;
    options.optimizer = kind;
    options.weight_decay = 0.01;
    expect_same_training(options, {4, 4});
    expect_same_training(options, {3, 3, 2});
    expect_same_training(options, {5, 0, 3});
    expect_same_training(options, {1, 7});
  }
}

TEST(DataParallel, ClippingAndGuardTrainAsOneToo) {
  ProgramOptions options;
  options.optimizer = OptimizerKind::kMomentum;
  options.clip_norm = 0.1;
  options.non_finite = NonFinite::kSkip;
  expect_same_training(options, {3, 3, 2});
}

TEST(DataParallel, FusingChangesNothingBeyondRounding) {
  ProgramOptions fused, plain;
  fused.optimizer = plain.optimizer = OptimizerKind::kMomentum;
  plain.disabled_passes = {"fuse"};
  Trainer a(mixed, fused, {5, 3}), b(mixed, plain, {5, 3});
  for (int step = 0; step < 3; ++step) {
    const NamedTensors batch = random_batch("fuse", 8);
    EXPECT_TRUE(all_close(a.step(batch, 0.1).at(kLossOutput), b.step(batch, 0.1).at(kLossOutput), 1e-12));
  }
  for (const auto& [name, tensor] : a.replicas.store())
    EXPECT_TRUE(all_close(b.replicas.stored(name), tensor, 1e-12)) << name;
}

// --bn local against shards by themselves: each share's gradients come from its own statistics.
TEST(DataParallel, LocalBatchNormIsTheSumOfIndependentShards) {
  ProgramOptions options = sgd();
  options.batch_norm = BatchNormMode::kLocal;
  Trainer together(mixed, options, {5, 3});
  const NamedTensors batch = random_batch("local", 8);
  const NamedTensors out = together.step(batch, 0);
  std::map<std::string, std::vector<double>> sums;
  const std::vector<std::pair<int64_t, int64_t>> shards{{0, 5}, {5, 8}};
  for (std::size_t r = 0; r < shards.size(); ++r) {
    const auto [begin, end] = shards[r];
    Trainer alone(mixed, options, {end - begin});
    NamedTensors shard;
    for (const auto& [name, tensor] : batch) shard[name] = rows_of(tensor, begin, end);
    for (const auto& [name, tensor] : alone.step(shard, 0)) {  // means over the shard, to be weighted by its share
      std::vector<double>& sum = sums[name];
      sum.resize(static_cast<std::size_t>(tensor.count()));
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += tensor.to_double()[i] * static_cast<double>(end - begin) / 8;
    }
    EXPECT_TRUE(
        all_close(together.replicas.stored("b2.running_var", r), alone.replicas.stored("b2.running_var"), 1e-12));
  }
  for (const auto& [name, sum] : sums) {
    EXPECT_TRUE(all_close(out.at(name), tensor_of(DType::kFloat64, out.at(name).shape(), sum), 1e-10)) << name;
  }
}

// ---- planted faults

// A program and the reduction of its gradient bucket.
struct Planted {
  Graph graph;
  Node* reduction = nullptr;

  Planted() {
    ProgramOptions options;
    options.optimizer = OptimizerKind::kSgd;
    options.replicas = 2;
    graph = make_program(given_gradients(2), options, {.local_batch = 2, .global_batch = 4}).graph;
    for (const auto& node : graph.nodes()) {
      if (node->origin.starts_with("gradient bucket")) reduction = node.get();
    }
  }
  void check(int replicas = 2) { check_reductions(graph, replicas, registry(), false); }
};

TEST(CheckReductions, AcceptsWhatThePassMade) { Planted().check(); }

TEST(CheckReductions, RejectsAMissingReductionOfAGradient) {
  Planted planted;
  planted.graph.replace_uses(*planted.reduction->output(0), *planted.reduction->input(0));
  planted.graph.erase(*planted.reduction);
  expect_error(ErrorKind::kModel, "SgdStep", [&] { planted.check(); });
  planted.check(1);  // one replica has nothing to add
}

TEST(CheckReductions, RejectsADoubleReduction) {
  Planted planted;
  Value& sum = *planted.reduction->output(0);
  const std::vector<Use> uses = sum.uses();
  Node& again = planted.graph.add_node({kOnwardDomain, "AllReduce"}, {&sum}, {"again"}, {{"collective", int64_t{9}}},
                                       uses.front().node);
  again.output(0)->type = sum.type;
  for (const Use& use : uses) planted.graph.set_input(*use.node, static_cast<std::size_t>(use.index), again.output(0));
  expect_error(ErrorKind::kModel, "AllReduce -> again adds 'onward.gradient.w' over the replicas, which is replicated",
               [&] { planted.check(); });
}

TEST(CheckReductions, RejectsAPartialOutput) {
  Planted planted;
  planted.graph.add_output(*planted.graph.find_value("loss_sum"));
  expect_error(ErrorKind::kModel, "the output 'loss_sum' is partial", [&] { planted.check(); });
  check_reductions(planted.graph, 2, registry(), true);
}

TEST(CheckReductions, RejectsOwnStatisticsWhereReplicasMustAgree) {
  ProgramOptions options;
  options.replicas = 2;
  options.batch_norm = BatchNormMode::kLocal;
  Graph graph = make_program(mixed(2), options, {.local_batch = 2, .global_batch = 4}).graph;
  graph.find_value("b1.running_var")->distribution = Distribution::kReplicated;
  expect_error(ErrorKind::kModel, "'b1.running_var', which is replicated, is updated with",
               [&] { check_reductions(graph, 2, registry(), false); });
}

}  // namespace
}  // namespace onward::test
