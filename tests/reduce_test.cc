#include <cmath>

#include "graph/error.h"
#include "ops/core/distribution_context.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace onward::test {
namespace {

const TensorType kImage(DType::kFloat32, {2, 3, 4, 5});

HostTensor ints(const std::vector<int64_t>& values) {
  return HostTensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
}

TEST(Reduce, TheFormsOfAllOpsetsAgree) {
  const auto axes_of = [](const NormalCase& made) { return made.node->attributes.get_ints("axes"); };
  EXPECT_EQ(axes_of(normal_case("ReduceMean", 11, {kImage}, {{"axes", Shape{-1, 1}}})), (Shape{1, 3}));
  EXPECT_EQ(axes_of(normal_case("ReduceMean", 18, {kImage, ints({-1, 1})})), (Shape{1, 3}));
  EXPECT_EQ(axes_of(normal_case("ReduceSum", 13, {kImage, ints({1})})), (Shape{1}));
  EXPECT_EQ(axes_of(normal_case("ReduceSum", 13, {kImage})), Shape{});
  EXPECT_EQ(normal_case("ReduceSum", 13, {kImage}).node->output(0)->type.text(), "float32[1,1,1,1]");
  EXPECT_EQ(normal_case("ReduceMean", 18, {kImage, ints({})}, {{"noop_with_empty_axes", int64_t{1}}}).node->op().name,
            "Identity");
  EXPECT_EQ(normal_case("ReduceMean", 18, {kImage}, {{"noop_with_empty_axes", int64_t{0}}}).node->op().name,
            "ReduceMean");
}

TEST(Reduce, TheMeanOfAnImageIsAGlobalAveragePool) {
  const HostTensor x = random_tensor(DType::kFloat64, {2, 3, 4, 5}, -1, 1, 6);
  const HostTensor mean = *run_op({"", "ReduceMean"}, {x}, {{"axes", Shape{2, 3}}, {"keepdims", int64_t{0}}})[0];
  const NormalCase kept = normal_case("ReduceMean", 18, {x.type(), ints({-1, -2})});
  EXPECT_EQ(kept.node->op().name, "GlobalAveragePool");
  EXPECT_TRUE(all_close(kept.run({x}), reshaped(mean, {2, 3, 1, 1}), 1e-15));
  const NormalCase dropped =
      normal_case("ReduceMean", 11, {x.type()}, {{"axes", Shape{2, 3}}, {"keepdims", int64_t{0}}});
  EXPECT_EQ(dropped.node->op().name, "Reshape");
  EXPECT_TRUE(all_close(dropped.run({x}), mean, 1e-15));
  const TensorType sequence(DType::kFloat32, {2, 3, 4});
  EXPECT_EQ(normal_case("ReduceMean", 18, {sequence, ints({2})}).node->op().name, "ReduceMean") << "no image";
}

TEST(Reduce, SumsOfFloatsAreTakenInDouble) {
  HostTensor x(DType::kFloat32, {1 << 16});
  for (float& value : x.edit_values<float>()) value = 0.1f;
  x.edit_values<float>()[0] = 1e6f;
  const double expected = 1e6 + 65535 * static_cast<double>(0.1f);
  EXPECT_NEAR(run_op({"", "ReduceSum"}, {x}, {{"keepdims", int64_t{0}}})[0]->to_double()[0], expected, 0.07);
}

TEST(Reduce, ExtremesPassNaNOnAndSendGradientsToTheFirst) {
  const HostTensor x = HostTensor::from<double>({2, 3}, {1, NAN, 3, 2, 7, 7});
  const Attributes along{{"axes", Shape{1}}, {"keepdims", int64_t{0}}};
  const auto largest = run_op({"", "ReduceMax"}, {x}, along)[0]->to_double();
  EXPECT_TRUE(std::isnan(largest[0]));
  EXPECT_EQ(largest[1], 7);
  OpCase made = make_case(registry().op({"", "ReduceMax"}), {.attributes = along}, {x});
  const auto gradients = gradients_by_rule(made, {HostTensor::from<double>({2}, {5, 6})}, {true});
  EXPECT_EQ(gradients[0]->to_double(), (std::vector<double>{0, 5, 0, 0, 6, 0}));
}

Distribution distribution_of(const char* op, const Shape& axes, int replicas) {
  OpCase made =
      make_case(registry().op({"", op}), {.attributes = {{"axes", axes}}}, {HostTensor(DType::kFloat32, {2, 3})});
  made.node->input(0)->distribution = Distribution::kBatchSplit;
  distribute_node(*made.node, replicas, registry());
  return made.node->output(0)->distribution;
}

TEST(Reduce, OverTheRowsOfASplitBatch) {
  EXPECT_EQ(distribution_of("ReduceSum", {0}, 2), Distribution::kPartial);
  EXPECT_EQ(distribution_of("ReduceSum", {}, 2), Distribution::kPartial);
  EXPECT_EQ(distribution_of("ReduceSum", {1}, 2), Distribution::kBatchSplit);
  EXPECT_EQ(distribution_of("ReduceMean", {1}, 2), Distribution::kBatchSplit);
  expect_error(ErrorKind::kModel, "mean over the rows", [] { distribution_of("ReduceMean", {0}, 2); });
  expect_error(ErrorKind::kModel, "compares the rows", [] { distribution_of("ReduceMax", {0}, 2); });
}

TEST(Reduce, TheGradientOfASumOverRowsHasRows) {
  OpCase made = make_case(registry().op({"", "ReduceSum"}), {.attributes = {{"axes", Shape{0}}}},
                          {HostTensor(DType::kFloat64, {2, 3})});
  gradients_by_rule(made, {HostTensor(DType::kFloat64, {1, 3})}, {true});
  Node& spread = *made.graph.nodes().back();
  ASSERT_TRUE(spread.is("BroadcastTo", kOnwardDomain));
  spread.input(0)->distribution = Distribution::kReplicated;
  distribute_node(spread, 2, registry());
  EXPECT_EQ(spread.output(0)->distribution, Distribution::kBatchSplit);
}

// Before opset 13 Softmax normalised over everything from `axis` on.
TEST(Softmax, OldFormsNormaliseTheWholeMatrixRow) {
  const HostTensor x = random_tensor(DType::kFloat64, {2, 3, 4}, -1, 1, 8);
  const NormalCase old = normal_case("Softmax", 11, {x.type()});
  const HostTensor matrix = *run_op({"", "Softmax"}, {reshaped(x, {2, 12})}, {{"axis", int64_t{1}}})[0];
  EXPECT_TRUE(all_close(old.run({x}), reshaped(matrix, {2, 3, 4}), 1e-15));
  EXPECT_EQ(old.graph.nodes().size(), 3u);
  const NormalCase last = normal_case("Softmax", 11, {x.type()}, {{"axis", int64_t{2}}});
  EXPECT_EQ(last.graph.nodes().size(), 1u) << "the same in both meanings";
  const NormalCase newer = normal_case("LogSoftmax", 13, {x.type()});
  EXPECT_EQ(newer.node->attributes.get_int("axis"), 2);
}

TEST(Softmax, ALineAlongTheBatchIsRefusedOnReplicas) {
  OpCase made = make_case(registry().op({"", "Softmax"}), {.attributes = {{"axis", int64_t{0}}}},
                          {HostTensor(DType::kFloat32, {2, 3})});
  made.node->input(0)->distribution = Distribution::kBatchSplit;
  expect_error(ErrorKind::kModel, "normalises over the rows", [&] { distribute_node(*made.node, 2, registry()); });
}

}  // namespace
}  // namespace onward::test
