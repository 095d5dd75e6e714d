#include "passes/roles.h"

#include "graph/model.h"
#include "passes/model_program.h"
#include "tests/support/onnx_text.h"
#include "tests/support/pass_driver.h"

namespace onward::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HostTensor floats(const Shape& shape, double start) {
  std::vector<float> values;
  for (int64_t i = 0; i < element_count(shape); ++i)
    values.push_back(static_cast<float>(start + 0.5 * static_cast<double>(i)));
  return HostTensor::from<float>(shape, values);
}

// x -> Conv -> BatchNormalization -> y, statistics behind Identity.
Graph conv_and_norm() {
  Graph graph;
  graph.opsets[""] = 15;
  Value& x = add_image_input(graph, "x", {Dim("N"), 3, 5, 5});
  Value& w = graph.add_data("conv.weight", floats({4, 3, 3, 3}, 0.1));
  Value& scale = graph.add_data("bn.weight", floats({4}, 1));
  Value& bias = graph.add_data("bn.bias", floats({4}, 2));
  Value& mean = graph.add_data("bn.running_mean", floats({4}, 3));
  Value& variance = graph.add_data("bn.running_var", floats({4}, 4));
  Node& alias = graph.add_node({"", "Identity"}, {&mean}, {"mean_alias"});
  Node& conv = graph.add_node({"", "Conv"}, {&x, &w}, {"c"}, {{"kernel_shape", Shape{3, 3}}});
  Node& norm =
      graph.add_node({"", "BatchNormalization"}, {conv.output(0), &scale, &bias, alias.output(0), &variance}, {"y"});
  graph.add_output(*norm.output(0));
  return graph;
}

TEST(Roles, B1_RunningStatisticsAreStateAndNeverTrained) {
  ModelProgram program(conv_and_norm(), {.loss = LossKind::kNone});
  EXPECT_THAT(program.parameters(), ElementsAre("conv.weight", "bn.weight", "bn.bias"));
  EXPECT_THAT(program.states(), ElementsAre("bn.running_mean", "bn.running_var"));
}

TEST(Roles, IntegersAndConstantNodesAreConstants) {
  Graph graph;
  graph.opsets[""] = 15;
  Value& x = add_image_input(graph, "x", {Dim("N"), 4});
  Value& ints = graph.add_data("ints", HostTensor::from<int64_t>({1}, {2}));
  Node& cast = graph.add_node({"", "Cast"}, {&ints}, {"cast"}, {{"to", int64_t{1}}});
  Node& fixed = graph.add_node({"", "Constant"}, {}, {"fixed"}, {{"value", floats({4}, 1)}});
  Node& a = graph.add_node({"", "Mul"}, {&x, fixed.output(0)}, {"a"});
  Node& b = graph.add_node({"", "Add"}, {a.output(0), cast.output(0)}, {"b"});
  graph.add_output(*b.output(0));
  PassDriver driver;
  driver.run(graph, roles_pass());
  EXPECT_EQ(graph.find_value("ints")->role, Role::kConstant);
  EXPECT_EQ(graph.find_value("fixed")->role, Role::kConstant);
  EXPECT_EQ(ops_of(graph), "Cast Mul Add");
  EXPECT_TRUE(graph.values_with_role(Role::kParameter).empty());
}

TEST(Roles, BoundsAndRatiosAreConstants) {
  Graph graph;
  graph.opsets[""] = 17;
  Value& x = add_image_input(graph, "x", {Dim("N"), 4});
  Node& clip = graph.add_node(
      {"", "Clip"},
      {&x, &graph.add_data("min", HostTensor::scalar(0.0f)), &graph.add_data("max", HostTensor::scalar(6.0f))}, {"c"});
  Node& dropout =
      graph.add_node({"", "Dropout"}, {clip.output(0), &graph.add_data("ratio", HostTensor::scalar(0.5f))}, {"d"});
  graph.add_output(
      *graph.add_node({"", "Mul"}, {dropout.output(0), &graph.add_data("w", floats({4}, 1))}, {"y"}).output(0));
  ModelProgram program(std::move(graph), {.loss = LossKind::kNone});
  EXPECT_THAT(program.parameters(), ElementsAre("w"));
  EXPECT_THAT(program.warnings(), testing::IsEmpty());
  EXPECT_EQ(ops_of(program.program({ProgramMode::kTrain, 2})), "Clip onward::DropoutTrain Mul");
}

TEST(Roles, ConstantNodesInTheirShortForms) {
  Graph graph;
  graph.opsets[""] = 15;
  const std::vector<std::pair<const char*, Attribute>> forms{{"value_float", 2.5f},
                                                             {"value_int", int64_t{7}},
                                                             {"value_floats", std::vector<float>{1, 2}},
                                                             {"value_ints", std::vector<int64_t>{3, 4, 5}}};
  for (const auto& [name, value] : forms)
    graph.add_output(*graph.add_node({"", "Constant"}, {}, {name}, {{name, value}}).output(0));
  PassDriver driver;
  driver.run(graph, roles_pass());
  EXPECT_EQ(graph.find_value("value_float")->type.text(), "float32[]");
  EXPECT_EQ(graph.find_value("value_int")->data.to_int64(), std::vector<int64_t>{7});
  EXPECT_EQ(graph.find_value("value_floats")->type.text(), "float32[2]");
  EXPECT_EQ(graph.find_value("value_ints")->data.to_int64(), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_THAT(graph.outputs(), testing::SizeIs(4));
}

std::string two_layers(bool initializers_as_inputs, int ir) {
  const std::string tensor_input =
      R"(type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 3 } } } })";
  std::string graph = R"(
    name: "g"
    input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 2 } } } } })";
  if (initializers_as_inputs) graph += " input { name: \"w\" " + tensor_input + " }";
  graph += R"(
    initializer { name: "w" data_type: 1 dims: 1 dims: 2 float_data: 1 float_data: 2 }
    node { op_type: "Mul" input: "x" input: "w" output: "y" }
    output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 2 } } } } })";
  return "ir_version: " + std::to_string(ir) + " opset_import { version: 8 } graph {" + graph + "}";
}

TEST(Roles, B7_InitializersListedAsInputsAreTheSameParameters) {
  for (const bool listed : {true, false}) {
    const Model model = Model::from_bytes(model_bytes(two_layers(listed, listed ? 3 : 8)), "test");
    ModelProgram program(model, {.loss = LossKind::kNone});
    EXPECT_THAT(program.parameters(), ElementsAre("w"));
    EXPECT_EQ(program.prepared().inputs().size(), 1u);
  }
}

TEST(Roles, WarnsOfTiedTensorsScalarsAndConstantWeights) {
  Graph graph;
  graph.opsets[""] = 15;
  Value& x = add_image_input(graph, "x", {Dim("N"), 4});
  Value& tied = graph.add_data("tied", floats({4}, 1));
  Value& factor = graph.add_data("factor", HostTensor::scalar(2.0f));
  Node& a = graph.add_node({"", "Mul"}, {&x, &tied}, {"a"});
  Node& b = graph.add_node({"", "Add"}, {a.output(0), &tied}, {"b"});
  Node& c = graph.add_node({"", "Mul"}, {b.output(0), &factor}, {"c"});
  graph.add_output(*c.output(0));
  PassDriver driver;
  driver.run(graph, roles_pass());
  EXPECT_THAT(driver.context().warnings,
              ElementsAre(HasSubstr("'tied' is read by 2 nodes"),
                          HasSubstr("are trained as parameters, as all others are: 'factor'")));
}

}  // namespace
}  // namespace onward::test
