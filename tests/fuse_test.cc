#include "passes/fuse.h"

#include "tests/support/net.h"
#include "tests/support/small_resnet.h"
#include "tests/support/tensors.h"

namespace onward::test {
namespace {

std::map<std::string, int> count_ops(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const auto& node : graph.nodes()) ++counts[node->op().name];
  return counts;
}

std::map<std::string, int> count_masks(const Graph& graph, const char* op) {
  std::map<std::string, int> counts;
  for (const auto& node : graph.nodes()) {
    if (node->is(op, kOnwardDomain)) ++counts[node->attributes.get_string("mask") + (node->output(1) ? " with G" : "")];
  }
  return counts;
}

TEST(Fuse, LeavesNoPassOverMemoryAroundTheBatchNormsOfAResnet) {
  const Graph graph = make_program(small_resnet(2), {}, {.local_batch = 2}).graph;
  std::map<std::string, int> counts = count_ops(graph);
  EXPECT_EQ(counts["BatchNormApply"], 6);
  for (const char* op : {"Relu", "Add", "ReluGrad"}) EXPECT_EQ(counts[op], 0) << op;
  EXPECT_EQ(count_masks(graph, "BatchNormGradReduce"),
            (std::map<std::string, int>{{"recompute", 2},         // inside the blocks
                                        {"recompute with G", 1},  // the stem, read by two branches
                                        {"y with G", 2},          // at the end of the blocks
                                        {"none", 1}}));           // the shortcut reads the G of its block
  EXPECT_EQ(count_masks(graph, "BatchNormGradApply"), (std::map<std::string, int>{{"recompute", 2}, {"none", 4}}));
}

TEST(Fuse, KeepsTheNamesOfWhatItJoins) {
  const Graph graph = make_program(small_resnet(2), {}, {.local_batch = 2}).graph;
  for (const char* name : {"stem.relu", "a.relu", "b.relu", "b.1.relu"}) {
    ASSERT_NE(graph.find_value(name), nullptr) << name;
    EXPECT_EQ(graph.find_value(name)->producer()->op().name, "BatchNormApply");
  }
}

TEST(Fuse, CanBeLeftOut) {
  ProgramOptions options;
  options.disabled_passes = {"fuse"};
  std::map<std::string, int> counts = count_ops(make_program(small_resnet(2), options, {.local_batch = 2}).graph);
  EXPECT_EQ(counts["Relu"], 5);
  EXPECT_EQ(counts["ReluGrad"], 5);
}

// What is an output, or has another reader, stays.
TEST(Fuse, DoesNotTouchWhatOthersRead) {
  Net net;
  Value* y = net.batch_norm(net.input("x", {4, 3}), "bn");
  net.graph.add_output(*y);
  net.loss_sum(net.op("Relu", {y}, "r"));
  const Graph graph = make_program(net.graph, {}, {.local_batch = 4}).graph;
  EXPECT_EQ(count_ops(graph)["Relu"], 1);
  EXPECT_EQ(count_ops(graph)["ReluGrad"], 1);
}

TEST(Fuse, LeavesABroadcastAddAlone) {
  Net net;
  Value* y = net.batch_norm(net.input("x", {4, 3}), "bn");
  net.loss_sum(net.op("Relu", {net.op("Add", {y, net.parameter("p", {3})}, "sum")}, "r"));
  EXPECT_EQ(count_ops(make_program(net.graph, {}, {.local_batch = 4}).graph)["Add"], 1);
}

// No Relu between the sum of two gradients and the batch norm: x + bn(x) chained.
Graph linear_residual(int64_t rows) {
  Net net;
  Value* x = net.batch_norm(net.op("Mul", {net.input("x", {rows, 3}), net.parameter("w", {3})}, "xw"), "b0");
  x = net.op("Add", {net.batch_norm(net.op("Mul", {x, net.parameter("v", {3})}, "xv"), "b1"), x}, "sum");
  net.loss_sum(net.op("Mul", {x, x}, "squares"));
  return std::move(net.graph);
}

TEST(Fuse, JoinsASumOfGradientsWithoutRelu) {
  const Graph graph = make_program(linear_residual(4), {}, {.local_batch = 4}).graph;
  EXPECT_EQ(count_masks(graph, "BatchNormGradReduce"), (std::map<std::string, int>{{"none with G", 2}}));
}

// A Relu and an Add that are not the only readers of their batch norm, and stay.
Graph batch_norms_read_twice(int64_t rows) {
  Net net;
  Value* x = net.batch_norm(net.op("Mul", {net.input("x", {rows, 3}), net.parameter("w", {3})}, "xw"), "b0");
  x = net.op("Add", {net.op("Relu", {x}, "relu"), x}, "sum");
  Value* y = net.batch_norm(net.op("Mul", {x, net.parameter("v", {3})}, "xv"), "b1");
  net.loss_sum(net.op("Mul", {net.op("Add", {y, x}, "sum2"), y}, "product"));
  return std::move(net.graph);
}

// The gradient of the Relu's output has three terms, of which the batch norm can add the last two.
Graph relu_read_three_times(int64_t rows) {
  Net net;
  Value* x = net.batch_norm(net.op("Mul", {net.input("x", {rows, 3}), net.parameter("w", {3})}, "xw"), "bn");
  x = net.op("Relu", {x}, "relu");
  const auto branch = [&](const char* name) {
    return net.op("Mul", {x, net.parameter(name, {3})}, std::string("x") + name);
  };
  net.loss_sum(net.op("Add", {net.op("Mul", {branch("a"), branch("b")}, "ab"), branch("c")}, "y"));
  return std::move(net.graph);
}

TEST(Fuse, LeavesWhatIsReadTwice) {
  std::map<std::string, int> counts = count_ops(make_program(batch_norms_read_twice(4), {}, {.local_batch = 4}).graph);
  EXPECT_EQ(counts["Relu"], 1);
  EXPECT_GE(counts["Add"], 2);
}

TEST(Fuse, ChangesNothingBeyondRounding) {
  for (Trainer::Forward forward :
       {Trainer::Forward(small_resnet), Trainer::Forward(small_resnet_fp32), Trainer::Forward(linear_residual),
        Trainer::Forward(batch_norms_read_twice), Trainer::Forward(relu_read_three_times)}) {
    ProgramOptions fused;
    fused.optimizer = OptimizerKind::kSgd;
    fused.keep_gradients = true;
    ProgramOptions plain = fused;
    plain.disabled_passes = {"fuse"};
    const bool fp32 = forward == Trainer::Forward(small_resnet_fp32);
    NamedTensors batch = small_resnet_batch(4, 1, fp32 ? DType::kFloat32 : DType::kFloat64);
    if (!fp32 && forward != Trainer::Forward(small_resnet))
      batch = {{"x", random_tensor(DType::kFloat64, {4, 3}, -1, 1, 1)}};
    Trainer a(forward, fused, {4}), b(forward, plain, {4});
    const NamedTensors with = a.step(batch, 0.1), without = b.step(batch, 0.1);
    for (const auto& [name, tensor] : with) {
      EXPECT_TRUE(all_close(tensor, without.at(name), fp32 ? 1e-4 : 1e-12, fp32 ? 1e-6 : 1e-14)) << name;
    }
  }
}

}  // namespace
}  // namespace onward::test
