#include <cmath>
#include <limits>

#include "graph/error.h"
#include "ops/arithmetic/broadcast_walk.h"
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace onward::test {
namespace {

using testing::ElementsAre;

HostTensor run_binary(const char* op, const HostTensor& a, const HostTensor& b) {
  return *run_op({"", op}, {a, b}).front();
}

TEST(Arithmetic, BroadcastsAsNumPyDoes) {
  const HostTensor column = HostTensor::from<double>({2, 1}, {10, 20}), row = HostTensor::from<double>({3}, {1, 2, 4});
  EXPECT_THAT(run_binary("Add", column, row).values<double>(), ElementsAre(11, 12, 14, 21, 22, 24));
  EXPECT_THAT(run_binary("Sub", column, row).values<double>(), ElementsAre(9, 8, 6, 19, 18, 16));
  EXPECT_THAT(run_binary("Sub", row, column).values<double>(), ElementsAre(-9, -8, -6, -19, -18, -16));
  EXPECT_THAT(run_binary("Mul", column, row).values<double>(), ElementsAre(10, 20, 40, 20, 40, 80));
  EXPECT_THAT(run_binary("Div", column, row).values<double>(), ElementsAre(10, 5, 2.5, 20, 10, 5));
  EXPECT_THAT(run_binary("Div", row, column).values<double>(), ElementsAre(0.1, 0.2, 0.4, 0.05, 0.1, 0.2));
}

TEST(Arithmetic, MergesAxesIntoLongRuns) {
  const BroadcastWalk equal({2, 3, 4}, {2, 3, 4}, {2, 3, 4});
  int runs = 0;
  equal.visit(0, 24, [&](int64_t, int64_t, int64_t, int64_t length) {
    ++runs;
    EXPECT_EQ(length, 24);
  });
  EXPECT_EQ(runs, 1);
  const BroadcastWalk channel({2, 3, 4, 5}, {3, 1, 1}, {2, 3, 4, 5});
  runs = 0;
  channel.visit(0, 120, [&](int64_t, int64_t, int64_t, int64_t length) {
    ++runs;
    EXPECT_EQ(length, 20);
  });
  EXPECT_EQ(runs, 6);
}

TEST(Arithmetic, IntegerDivisionTruncatesAndEndsNoProcess) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const HostTensor a = HostTensor::from<int64_t>({5}, {7, -7, 5, least, 9});
  const HostTensor b = HostTensor::from<int64_t>({5}, {2, 2, 0, -1, 3});
  EXPECT_THAT(run_binary("Div", a, b).values<int64_t>(), ElementsAre(3, -3, 0, least, 3));
}

TEST(Arithmetic, RefusesShapesAndTypesThatDoNotFit) {
  expect_error(ErrorKind::kModel, "2x3 and 4", [] {
    run_binary("Add", HostTensor(DType::kFloat32, {2, 3}), HostTensor(DType::kFloat32, {4}));
  });
  expect_error(ErrorKind::kModel, "float32 and float64",
               [] { run_binary("Add", HostTensor(DType::kFloat32, {2}), HostTensor(DType::kFloat64, {2})); });
}

Distribution distribution_of(const char* op, Distribution a, Distribution b) {
  Graph graph;
  Value& x = graph.add_input("a", {DType::kFloat32, {4, 3}});
  Value& y = graph.add_input("b", {DType::kFloat32, {4, 3}});
  x.distribution = a, y.distribution = b;
  Node& node = graph.add_node({"", op}, {&x, &y}, {"y"});
  infer_node(node, registry());
  distribute_node(node, 2, registry());
  return node.output(0)->distribution;
}

TEST(Arithmetic, PartialSumsStayPartialOnlyWhereThatIsRight) {
  const auto partial = Distribution::kPartial, replicated = Distribution::kReplicated,
             split = Distribution::kBatchSplit;
  EXPECT_EQ(distribution_of("Add", partial, partial), partial);
  EXPECT_EQ(distribution_of("Mul", partial, replicated), partial);
  EXPECT_EQ(distribution_of("Div", partial, replicated), partial);
  EXPECT_EQ(distribution_of("Mul", split, replicated), split);
  EXPECT_THROW(distribution_of("Add", partial, replicated), Error);
  EXPECT_THROW(distribution_of("Sub", replicated, partial), Error);
  EXPECT_THROW(distribution_of("Mul", partial, partial), Error);
  EXPECT_THROW(distribution_of("Div", replicated, partial), Error);
  EXPECT_THROW(distribution_of("Mul", partial, split), Error);
}

TEST(Arithmetic, BeforeOpset7TheSecondOperandIsAlignedByAxis) {
  Graph graph;
  Value& a = graph.add_input("a", {DType::kFloat32, {2, 3, 4, 5}});
  Value& b = graph.add_input("b", {DType::kFloat32, {3, 4}});
  Node& node = graph.add_node({"", "Add"}, {&a, &b}, {"y"}, {{"broadcast", int64_t{1}}, {"axis", int64_t{1}}});
  NormaliseContext context(graph, node, 6, false);
  registry().op(node.op()).normalise(context);
  EXPECT_EQ(node.input(1)->type.shape(), (Shape{3, 4, 1}));
  EXPECT_EQ(node.attributes.size(), 0u);
  infer_node(node, registry());
  EXPECT_EQ(node.output(0)->type.shape(), (Shape{2, 3, 4, 5}));
}

TEST(Arithmetic, BeforeOpset7ShapesMustAgreeUnlessBroadcastIsAsked) {
  Graph graph;
  Value& a = graph.add_input("a", {DType::kFloat32, {2, 3}});
  Value& b = graph.add_input("b", {DType::kFloat32, {3}});
  Node& node = graph.add_node({"", "Mul"}, {&a, &b}, {"y"});
  NormaliseContext context(graph, node, 6, false);
  EXPECT_THROW(registry().op(node.op()).normalise(context), Error);
}

TEST(Cast, TruncatesSaturatesAndRounds) {
  const double nan = std::nan("");
  const HostTensor x = HostTensor::from<double>({6}, {1.9, -1.9, 300, -300, nan, 0});
  const auto cast = [&](DType to) { return *run_op({"", "Cast"}, {x}, {{"to", static_cast<int64_t>(to)}}).front(); };
  EXPECT_THAT(cast(DType::kInt64).values<int64_t>(), ElementsAre(1, -1, 300, -300, 0, 0));
  EXPECT_THAT(cast(DType::kUInt8).values<uint8_t>(), ElementsAre(1, 0, 255, 0, 0, 0));
  EXPECT_THAT(cast(DType::kBool).values<bool>(), ElementsAre(true, true, true, true, true, false));
  EXPECT_EQ(cast(DType::kBFloat16).to_double()[0], 1.8984375);
}

TEST(Cast, Opset1NamesTheTypeInWords) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kInt64, {2}});
  Node& node = graph.add_node({"", "Cast"}, {&x}, {"y"}, {{"to", std::string("DOUBLE")}});
  NormaliseContext context(graph, node, 1, false);
  registry().op(node.op()).normalise(context);
  infer_node(node, registry());
  EXPECT_EQ(node.output(0)->type.dtype, DType::kFloat64);
}

TEST(Clip, KeepsNanAndLetsTheUpperBoundWin) {
  const HostTensor x = HostTensor::from<float>({4}, {-3, 0.5f, 9, std::nanf("")});
  const HostTensor y = *run_op({"", "Clip"}, {x}, {{"min", -1.0}, {"max", 2.0}}).front();
  EXPECT_THAT(y.values<float>().subspan(0, 3), ElementsAre(-1, 0.5f, 2));
  EXPECT_TRUE(std::isnan(y.values<float>()[3]));
  const HostTensor crossed = *run_op({"", "Clip"}, {x}, {{"min", 5.0}, {"max", 2.0}}).front();
  EXPECT_THAT(crossed.values<float>().subspan(0, 3), ElementsAre(2, 2, 2));
}

TEST(Clip, BoundsThatAreInputsBecomeAttributes) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2}});
  Value& max = graph.add_data("max", HostTensor::scalar<float>(6));
  Node& node = graph.add_node({"", "Clip"}, {&x, nullptr, &max}, {"y"});
  NormaliseContext context(graph, node, 13, false);
  registry().op(node.op()).normalise(context);
  EXPECT_EQ(node.inputs().size(), 1u);
  EXPECT_FALSE(node.attributes.has("min"));
  EXPECT_EQ(node.attributes.get_double("max"), 6);
}

TEST(Select, TakesTheWholeOfOneSide) {
  const HostTensor a = HostTensor::from<float>({2}, {1, 2}), b = HostTensor::from<float>({2}, {3, std::nanf("")});
  HostTensor flag(DType::kBool, {});
  flag.edit_values<bool>()[0] = true;
  EXPECT_THAT(run_op({kOnwardDomain, "Select"}, {flag, a, b}).front()->values<float>(), ElementsAre(1, 2));
}

}  // namespace
}  // namespace onward::test
