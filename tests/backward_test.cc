#include "passes/backward.h"

#include "graph/print.h"
#include "graph/scalars.h"
#include "passes/outputs.h"
#include "tests/support/expect_error.h"
#include "tests/support/net.h"
#include "tests/support/tensors.h"

namespace onward::test {
namespace {

// The graph after backward alone.
Program differentiate(const Graph& forward, const ProgramOptions& options = {}, const Registry& ops = registry(),
                      const std::string& target = kLossOutput) {
  Program program{forward.clone(), {}, {}};
  PassContext context{.options = options, .request = {}, .registry = ops, .loss = LossInfo{.value = target}};
  run_passes(program.graph,
             {{.name = "given", .run = [](Graph&, PassContext&) {}, .ensures = {"static"}}, backward_pass()}, context);
  program.warnings = context.warnings;
  return program;
}

std::vector<std::string> gradient_order(const Graph& graph) {
  std::vector<std::string> names;
  for (const ParameterGradient& pair : graph.gradients()) names.push_back(pair.parameter->name());
  return names;
}

// loss = sum((x*a)*b + (x*a)*c) / denominator
Graph fan_out() {
  Net net;
  Value* x = net.input("x", {2, 3});
  Value* xa = net.op("Mul", {x, net.parameter("a", {3}, {1, 2, 3})}, "xa");
  Value* left = net.op("Mul", {xa, net.parameter("b", {3}, {4, 5, 6})}, "left");
  Value* right = net.op("Mul", {xa, net.parameter("c", {3}, {7, 8, 9})}, "right");
  net.loss_sum(net.op("Add", {left, right}, "y"));
  return std::move(net.graph);
}

TEST(Backward, AddsTheGradientsOfAllUsersAndOrdersThemByTheirEnd) {
  const Program program = differentiate(fan_out());
  EXPECT_EQ(gradient_order(program.graph), (std::vector<std::string>{"c", "b", "a"}));
  EXPECT_TRUE(program.warnings.empty());

  ProgramOptions options;
  options.optimizer = OptimizerKind::kSgd;
  options.keep_gradients = true;
  Trainer trainer([](int64_t) { return fan_out(); }, options, {2});
  const NamedTensors out = trainer.step({{"x", tensor_of(DType::kFloat64, {2, 3}, {1, 1, 1, 2, 2, 2})}}, 0.1);
  EXPECT_TRUE(all_close(out.at(gradient_name("a")), tensor_of(DType::kFloat64, {3}, {16.5, 19.5, 22.5}), 1e-12));
  EXPECT_TRUE(all_close(out.at(gradient_name("b")), tensor_of(DType::kFloat64, {3}, {1.5, 3, 4.5}), 1e-12));
  EXPECT_TRUE(all_close(trainer.replicas.stored("b"), tensor_of(DType::kFloat64, {3}, {3.85, 4.7, 5.55}), 1e-12));
}

TEST(Backward, NamesWhereEveryNodeComesFrom) {
  const Program program = differentiate(fan_out());
  const std::string text = print(program.graph, {.distributions = false});
  EXPECT_THAT(text, testing::HasSubstr("# backward of left"));
  EXPECT_THAT(text, testing::HasSubstr("# gradient of xa"));
  EXPECT_THAT(text, testing::HasSubstr("gradient %a <- %onward.gradient.a"));
}

TEST(Backward, B12_ListsEveryOpWithoutGradientBetweenParametersAndLoss) {
  Registry ops;
  register_all(ops);
  OpDef rounding = registry().op({"", "Relu"});
  rounding.id = {"", "Rounding"}, rounding.gradient = nullptr;
  ops.add(rounding);
  rounding.id = {"com.example", "Quantise"};
  ops.add(rounding);

  Net net;
  Value* x = net.input("x", {2, 3});
  const auto opaque = [&](OpId op, Value* from, const std::string& name) {
    Node& node = net.graph.add_node(op, {from}, {name});
    node.name = name, node.output(0)->type = from->type;
    return node.output(0);
  };
  Value* before = opaque({"", "Rounding"}, x, "no_parameter_before");  // not on the way: no error
  Value* y = net.op("Mul", {before, net.parameter("a", {3})}, "y");
  Value* first = opaque({"", "Rounding"}, y, "first");
  net.loss_sum(opaque({"com.example", "Quantise"}, first, "second"));
  const Graph graph = std::move(net.graph);
  const auto run = [&] { differentiate(graph, {}, ops); };
  expect_error(ErrorKind::kModel, "first (Rounding) (domain ai.onnx)", run);
  expect_error(ErrorKind::kModel, "second (com.example::Quantise) (domain com.example)", run);
  try {
    run();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("no_parameter_before")));
  }
  ProgramOptions frozen;
  frozen.freeze = {"a"};
  expect_error(ErrorKind::kModel, "expected a trained parameter that changes the loss",
               [&] { differentiate(graph, frozen, ops); });
}

TEST(Backward, B1_RunningStatisticsNeverGetAGradient) {
  Net net;
  Value* y = net.batch_norm(net.input("x", {4, 2}), "bn");
  net.loss_sum(net.op("Mul", {y, y}, "squares"));
  const Program program = differentiate(net.graph);
  EXPECT_EQ(gradient_order(program.graph), (std::vector<std::string>{"bn.scale", "bn.bias"}));
}

TEST(Backward, WarnsOfParametersThatDoNotReachTheLoss) {
  Net net;
  Value* x = net.input("x", {2, 3});
  net.op("Mul", {x, net.parameter("unused", {3})}, "elsewhere");
  net.loss_sum(net.op("Mul", {x, net.parameter("a", {3})}, "y"));
  const Program program = differentiate(net.graph);
  EXPECT_EQ(gradient_order(program.graph), (std::vector<std::string>{"a"}));
  EXPECT_THAT(program.warnings, testing::ElementsAre(testing::HasSubstr("'unused' does not reach the loss")));
}

TEST(Backward, FrozenParametersCostNoNode) {
  ProgramOptions options;
  options.freeze = {"[ab]"};
  const Program program = differentiate(fan_out(), options);
  EXPECT_EQ(gradient_order(program.graph), (std::vector<std::string>{"c"}));
  EXPECT_TRUE(program.warnings.empty());
  for (const auto& node : program.graph.nodes()) EXPECT_NE(node->origin, "backward of xa");
}

TEST(Backward, AFreezePatternThatMatchesNothingIsAnError) {
  ProgramOptions options;
  options.freeze = {"a", "layer9.*"};
  expect_error(ErrorKind::kUsage, "'layer9.*', which matches none of 3", [&] { differentiate(fan_out(), options); });
}

TEST(Backward, GivesGradientsOfInputsWhenAsked) {
  ProgramOptions options;
  options.input_gradients = true;
  options.optimizer = OptimizerKind::kNone;
  Trainer trainer([](int64_t) { return fan_out(); }, options, {2});
  const NamedTensors out = trainer.step({{"x", tensor_of(DType::kFloat64, {2, 3}, {1, 1, 1, 2, 2, 2})}}, 0);
  EXPECT_TRUE(
      all_close(out.at(gradient_name("x")), tensor_of(DType::kFloat64, {2, 3}, {5.5, 13, 22.5, 5.5, 13, 22.5}), 1e-12));
}

TEST(Backward, DifferentiatesAnyScalarOutput) {
  Net net;
  Value* x = net.input("x", {2, 3});
  Value* y = net.op("Mul", {x, net.parameter("a", {3})}, "y");
  net.graph.add_output(*net.op("ReduceSum", {y}, "energy", {{"axes", Shape{}}, {"keepdims", int64_t{0}}}));
  net.graph.add_output(*y);
  EXPECT_EQ(differentiate(net.graph, {}, registry(), "energy").graph.gradients().size(), 1u);
  expect_error(ErrorKind::kModel, "expected one floating number to differentiate, found 'y' of type float64[2,3]",
               [&] { differentiate(net.graph, {}, registry(), "y"); });
  expect_error(ErrorKind::kModel, "expected an output 'nothing' to differentiate",
               [&] { differentiate(net.graph, {}, registry(), "nothing"); });
}

// Parameters behind Identity and Transpose nodes at the start of the file are done as soon as their last user is.
TEST(Backward, NodesOfParametersAloneDoNotHoldGradientsBack) {
  Net net;
  Value* last = net.op("Identity", {net.parameter("last", {3})}, "last.copy");
  Value* first = net.op("Identity", {net.parameter("first", {3})}, "first.copy");
  Value* y = net.op("Mul", {net.input("x", {2, 3}), first}, "y");
  Value* z = net.op("Mul", {y, net.parameter("middle", {3})}, "z");
  net.loss_sum(net.op("Mul", {z, last}, "w"));
  EXPECT_EQ(gradient_order(differentiate(net.graph).graph), (std::vector<std::string>{"last", "middle", "first"}));
}

TEST(Backward, ATiedParameterGetsTheSumAndIsDoneWithItsFirstUser) {
  Net net;
  Value* tied = net.parameter("tied", {3});
  Value* y = net.op("Mul", {net.input("x", {2, 3}), tied}, "y");
  Value* z = net.op("Mul", {y, net.parameter("middle", {3})}, "z");
  net.loss_sum(net.op("Mul", {z, tied}, "w"));
  EXPECT_EQ(gradient_order(differentiate(net.graph).graph), (std::vector<std::string>{"middle", "tied"}));
}

TEST(Backward, EveryParameterHasAGradientOfItsOwn) {
  Net net;
  Value* sum = net.op("Add", {net.parameter("p", {3}), net.parameter("q", {3})}, "sum");
  net.loss_sum(net.op("Mul", {net.input("x", {2, 3}), sum}, "y"));
  const Program program = differentiate(net.graph);
  ASSERT_EQ(program.graph.gradients().size(), 2u);
  EXPECT_NE(program.graph.gradients()[0].gradient, program.graph.gradients()[1].gradient);
}

// With a single row there is nothing to sum over the batch, and yet the gradient is one term of the sum over replicas.
TEST(Backward, ABroadcastParameterIsSummedOverReplicasWithOneRowToo) {
  Net net;
  net.loss_sum(net.op("Add", {net.input("x", {1, 3}), net.parameter("bias", {1, 3})}, "y"));
  ProgramOptions options;
  options.replicas = 2;
  const Program program = differentiate(net.graph, options);
  EXPECT_EQ(program.graph.gradients().at(0).gradient->distribution, Distribution::kPartial);
}

TEST(Backward, AParameterWithARowPerSampleNeedsOneReplica) {
  Net net;
  net.loss_sum(net.op("Mul", {net.input("x", {4, 3}), net.parameter("row_weights", {4, 3})}, "y"));
  ProgramOptions options;
  EXPECT_EQ(differentiate(net.graph, options).graph.gradients().size(), 1u);
  options.replicas = 2;
  expect_error(ErrorKind::kModel, "'row_weights'", [&] { differentiate(net.graph, options); });
}

// The weights of the classes say how much a sample counts; nobody learns them.
TEST(Backward, NothingFlowsThroughAnInputThatTakesNoGradient) {
  Net net;
  Value* scores = net.op("Mul", {net.input("x", {2, 3}), net.parameter("w", {3})}, "scores");
  Value* weights = net.parameter("class_weights", {3}, {1, 2, 3});
  net.graph.add_output(*net.op("SoftmaxCrossEntropyLoss", {scores, net.labels(2), weights}, kLossOutput,
                               {{"reduction", std::string("sum")}}));
  const Program program = differentiate(net.graph);
  EXPECT_EQ(gradient_order(program.graph), std::vector<std::string>{"w"});
  EXPECT_THAT(program.warnings, testing::ElementsAre("the parameter 'class_weights' does not reach the loss and is not "
                                                     "trained"));
}

TEST(Backward, ShortParametersAreNamedBeforeAnyOptimizerMeetsThem) {
  Net net;
  Value* x = net.input("x", {2, 3});
  Value& half = net.graph.add_data("half", HostTensor(DType::kFloat16, {3}), Role::kParameter);
  Value* cast = net.op("Cast", {&half}, "cast", {{"to", static_cast<int64_t>(DType::kFloat64)}});
  net.loss_sum(net.op("Mul", {net.op("Mul", {x, cast}, "y"), net.parameter("a", {3})}, "z"));
  expect_error(ErrorKind::kModel, "found 'half' (float16[3]); store them as float32",
               [&] { differentiate(net.graph); });
  differentiate(net.graph, {.freeze = {"half"}});
  differentiate(net.graph, {.optimizer = OptimizerKind::kNone});
}

}  // namespace
}  // namespace onward::test
