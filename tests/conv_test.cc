#include "graph/error.h"
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/host_run.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"

namespace onward::test {
namespace {

using Ints = std::vector<int64_t>;
using testing::ElementsAre;

struct ConvGraph {
  Graph graph;
  Node* node;
};

ConvGraph conv(Shape x, Shape w, Attributes attributes, bool bias = false) {
  ConvGraph c;
  std::vector<Value*> inputs{&c.graph.add_input("x", {DType::kFloat64, x}),
                             &c.graph.add_input("w", {DType::kFloat64, w})};
  if (bias) inputs.push_back(&c.graph.add_input("b", {DType::kFloat64, Shape{w[0]}}));
  c.node = &c.graph.add_node({"", "Conv"}, inputs, {"y"}, std::move(attributes));
  return c;
}

std::vector<double> run(Node& node, const std::vector<HostTensor>& inputs, int max_priority = 1 << 30) {
  infer_node(node, registry());
  const auto outputs =
      run_node_on_host(node, inputs, registry(), {.max_priority = max_priority, .fill_with_nan = true});
  return outputs[0].to_double();
}

TEST(Conv, KnownNumbersWithPaddingStrideAndBias) {
  ConvGraph c = conv({1, 1, 3, 3}, {1, 1, 2, 2}, {{"pads", Ints{1, 0, 0, 1}}, {"strides", Ints{1, 2}}}, true);
  const auto x = HostTensor::from<double>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto w = HostTensor::from<double>({1, 1, 2, 2}, {1, 10, 100, 1000});
  const auto b = HostTensor::from<double>({1}, {0.5});
  // Rows are padded at the top, columns at the right; columns start at 0 and 2.
  const std::vector<double> expected{2100.5, 300.5, 5421.5, 603.5, 8754.5, 906.5};
  EXPECT_EQ(run(*c.node, {x, w, b}), expected);
  EXPECT_EQ(run(*c.node, {x, w, b}, 0), expected);
}

TEST(Conv, GroupsSeeOnlyTheirChannels) {
  ConvGraph c = conv({1, 2, 1, 2}, {2, 1, 1, 1}, {{"group", int64_t{2}}});
  EXPECT_THAT(run(*c.node, {HostTensor::from<double>({1, 2, 1, 2}, {1, 2, 3, 4}),
                            HostTensor::from<double>({2, 1, 1, 1}, {10, 100})}),
              ElementsAre(10, 20, 300, 400));
}

TEST(Conv, NormaliseWritesExplicitPads) {
  ConvGraph c = conv({2, 3, 5, 6}, {4, 3, 2, 4}, {{"auto_pad", "SAME_UPPER"}, {"strides", Ints{2, 1}}});
  NormaliseContext context(c.graph, *c.node, 11, true);
  registry().op(c.node->op()).normalise(context);
  EXPECT_FALSE(c.node->attributes.has("auto_pad"));
  EXPECT_THAT(c.node->attributes.get_ints("pads"), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(c.node->attributes.get_ints("kernel_shape"), ElementsAre(2, 4));
  infer_node(*c.node, registry());
  EXPECT_THAT(c.node->output(0)->type.shape(), ElementsAre(2, 4, 3, 6));
}

TEST(Conv, ErrorsNameTheShapes) {
  const auto message = [](ConvGraph c) -> std::string {
    try {
      infer_node(*c.node, registry());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kModel);
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message(conv({1, 3, 8, 8}, {4, 2, 3, 3}, {})), testing::HasSubstr("4x2x3x3"));
  EXPECT_THAT(message(conv({1, 3, 8, 8}, {4, 3, 3}, {})), testing::HasSubstr("rank 4"));
  EXPECT_THAT(message(conv({1, 3, 2, 8}, {4, 3, 3, 3}, {})), testing::HasSubstr("fits its input"));
  EXPECT_THAT(message(conv({1, 3, 8, 8}, {4, 3, 3, 3}, {{"kernel_shape", Ints{5, 5}}})),
              testing::HasSubstr("kernel_shape"));
  EXPECT_THAT(message(conv({1, 4, 8, 8}, {3, 2, 3, 3}, {{"group", int64_t{2}}})), testing::HasSubstr("group 2"));
}

// Whatever the number of replicas, an empty share contributes zeros.
TEST(Conv, WeightGradientOfAnEmptyBatchIsZero) {
  for (const int max_priority : {0, 1 << 30}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      Graph graph;
      Value& x = graph.add_input("x", {dtype, {0, 3, 5, 5}});
      Value& dy = graph.add_input("dy", {dtype, {0, 4, 3, 3}});
      Node& node =
          graph.add_node({kOnwardDomain, "ConvGradWeight"}, {&x, &dy}, {"dw"}, {{"weight_shape", Ints{4, 3, 3, 3}}});
      const auto dw = run(node, {HostTensor(dtype, {0, 3, 5, 5}), HostTensor(dtype, {0, 4, 3, 3})}, max_priority);
      EXPECT_EQ(dw, std::vector<double>(108, 0.0));
    }
  }
}

TEST(Conv, DistributionOfTheGradients) {
  ConvGraph c = conv({2, 3, 5, 5}, {4, 3, 3, 3}, {}, true);
  infer_node(*c.node, registry());
  Value* dy = &c.graph.add_input("dy", {DType::kFloat64, {2, 4, 3, 3}});
  GradientContext context(c.graph, *c.node, {dy}, {true, true, true}, registry());
  registry().op(c.node->op()).gradient(context);
  c.node->input(0)->distribution = dy->distribution = Distribution::kBatchSplit;
  c.node->input(1)->distribution = c.node->input(2)->distribution = Distribution::kReplicated;
  for (const auto& node : c.graph.nodes()) distribute_node(*node, 2, registry());
  EXPECT_EQ(c.node->output(0)->distribution, Distribution::kBatchSplit);
  EXPECT_EQ(context.dxs()[0]->distribution, Distribution::kBatchSplit);
  EXPECT_EQ(context.dxs()[1]->distribution, Distribution::kPartial);
  EXPECT_EQ(context.dxs()[2]->distribution, Distribution::kPartial);
  c.node->input(1)->distribution = Distribution::kBatchSplit;
  EXPECT_THROW(distribute_node(*c.node, 2, registry()), Error);
}

TEST(ChannelSum, AddsAllButTheChannel) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat64, {2, 2, 1, 2}});
  Node& node = graph.add_node({kOnwardDomain, "ChannelSum"}, {&x}, {"sum"});
  const auto input = HostTensor::from<double>({2, 2, 1, 2}, {1, 2, 10, 20, 3, 4, 30, 40});
  EXPECT_THAT(run(node, {input}), ElementsAre(10, 100));
  EXPECT_THAT(run(node, {input}, 0), ElementsAre(10, 100));
}

}  // namespace
}  // namespace onward::test
