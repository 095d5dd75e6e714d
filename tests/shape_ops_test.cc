#include "ops/constant/constant.h"
#include "ops/core/infer_context.h"
#include "tests/support/expect_error.h"
#include "tests/support/kernel_driver.h"
#include "tests/support/op_case.h"

namespace onward::test {
namespace {

HostTensor ints(const std::vector<int64_t>& values) {
  return HostTensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
}

HostTensor counting(const Shape& shape) {
  HostTensor tensor(DType::kFloat32, shape);
  auto values = tensor.edit_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return tensor;
}

TEST(Constant, EveryAttributeForm) {
  EXPECT_EQ(constant_value(Attributes{{"value", ints({4, 5})}}).to_int64(), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(constant_value(Attributes{{"value_int", int64_t{3}}}).type().text(), "int64[]");
  EXPECT_EQ(constant_value(Attributes{{"value_ints", Shape{1, 2, 3}}}).type().text(), "int64[3]");
  EXPECT_EQ(constant_value(Attributes{{"value_float", 0.5f}}).to_double(), (std::vector<double>{0.5}));
  EXPECT_EQ(constant_value(Attributes{{"value_floats", std::vector<float>{1, 2}}}).type().text(), "float32[2]");
  expect_error(ErrorKind::kModel, "value_string=text", [] {
    constant_value(Attributes{{"value_string", std::string("text")}});
  });
}

TEST(Slice, NumpyRangesInBothForms) {
  const HostTensor x = counting({2, 6});
  const auto sliced = [&](std::vector<int64_t> starts, std::vector<int64_t> ends, std::vector<int64_t> axes,
                          std::vector<int64_t> steps) {
    return normal_case("Slice", 13, {x.type(), ints(starts), ints(ends), ints(axes), ints(steps)}).run({x}).to_double();
  };
  EXPECT_EQ(sliced({1}, {5}, {1}, {2}), (std::vector<double>{1, 3, 7, 9}));
  EXPECT_EQ(sliced({-1}, {-100}, {-1}, {-2}), (std::vector<double>{5, 3, 1, 11, 9, 7}));
  EXPECT_EQ(sliced({1, 4}, {2, 1000}, {0, 1}, {1, 1}), (std::vector<double>{10, 11}));
  EXPECT_EQ(sliced({4}, {2}, {1}, {1}), std::vector<double>{});
  const NormalCase old = normal_case("Slice", 1, {x.type()}, {{"starts", Shape{0, -2}}, {"ends", Shape{1, 6}}});
  EXPECT_EQ(old.run({x}).to_double(), (std::vector<double>{4, 5}));
}

TEST(Slice, LeavesOutAxesThatItTakesWhole) {
  const NormalCase whole_rows =
      normal_case("Slice", 13, {TensorType(DType::kFloat32, {2, 6}), ints({0, 1}), ints({1000, 3})});
  EXPECT_EQ(whole_rows.node->attributes.get_ints("axes"), (Shape{1}));
}

TEST(Gather, RefusesAnIndexOutside) {
  const HostTensor data = counting({4, 2});
  EXPECT_EQ(run_op({"", "Gather"}, {data, ints({-1, 0})})[0]->to_double(), (std::vector<double>{6, 7, 0, 1}));
  expect_error(ErrorKind::kData, "into 4 slices, found 4 at position 1", [&] {
    run_op({"", "Gather"}, {data, ints({0, 4})});
  });
}

TEST(Expand, BroadcastsBothWays) {
  const NormalCase made = normal_case("Expand", 13, {TensorType(DType::kFloat32, {3, 1}), ints({2, 1, 4})});
  EXPECT_EQ(to_string(made.node->op()), "onward::BroadcastTo");
  EXPECT_EQ(made.run({counting({3, 1})}).to_double(),
            (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(normal_case("Expand", 13, {TensorType(DType::kFloat32, {3, 4}), ints({1, 1})}).node->output(0)->type.text(),
            "float32[3,4]");
}

TEST(Range, CountsReals) {
  Graph graph;
  const HostTensor start = HostTensor::scalar(1.0), limit = HostTensor::scalar(2.0), delta = HostTensor::scalar(0.3);
  Node& node = graph.add_node(
      {"", "Range"}, {&graph.add_data("a", start), &graph.add_data("b", limit), &graph.add_data("c", delta)}, {"y"});
  infer_node(node, registry());
  const HostTensor expected = HostTensor::from<double>({4}, {1, 1.3, 1.6, 1.9});
  EXPECT_TRUE(all_close(*run_node(node, {start, limit, delta})[0], expected, 1e-15));
}

TEST(Concat, JoinsIntegersAndBooleans) {
  const HostTensor yes = HostTensor(DType::kBool, {1, 2});
  EXPECT_EQ(run_op({"", "Concat"}, {yes, yes}, {{"axis", int64_t{-1}}})[0]->type().text(), "bool[1,4]");
  EXPECT_EQ(run_op({"", "Concat"}, {ints({1, 2}), ints({3})}, {{"axis", int64_t{0}}})[0]->to_int64(),
            (std::vector<int64_t>{1, 2, 3}));
  expect_error(ErrorKind::kModel, "agree but for axis 0", [&] {
    run_op({"", "Concat"}, {ints({1}), yes}, {{"axis", int64_t{0}}});
  });
}

}  // namespace
}  // namespace onward::test
