#include "passes/precision.h"

#include "graph/error.h"
#include "passes/check_kernels.h"
#include "passes/initialise.h"
#include "passes/specialise.h"
#include "tests/support/expect_error.h"
#include "tests/support/pass_driver.h"

namespace onward::test {
namespace {

// y = cast(x, float32) * w + k, with integers in between.
Graph small_graph() {
  Graph graph;
  graph.opsets[""] = 17;
  Value& x = add_image_input(graph, "x", {Dim("N"), 2});
  Value& w = graph.add_data("w", HostTensor::from<float>({2}, {1, 0.1f}));
  Value& k = graph.add_data("k", HostTensor::from<int64_t>({2}, {1, 2}));
  Node& cast = graph.add_node({"", "Cast"}, {&k}, {"kf"}, {{"to", int64_t{1}}});
  Node& product = graph.add_node({"", "Mul"}, {&x, &w}, {"p"});
  graph.add_output(*graph.add_node({"", "Add"}, {product.output(0), cast.output(0)}, {"y"}).output(0));
  return graph;
}

TEST(Precision, Fp64WidensEveryFloatAndNothingElse) {
  Graph graph = small_graph();
  PassDriver driver({.precision = DType::kFloat64});
  driver.prepare_and_run(graph, {specialise_pass()});
  EXPECT_EQ(graph.find_value("x")->type.text(), "float64[1,2]");
  EXPECT_EQ(graph.find_value("w")->type.text(), "float64[2]");
  EXPECT_EQ(graph.find_value("y")->type.text(), "float64[1,2]");
  EXPECT_EQ(graph.find_value("kf")->type.text(), "float64[2]") << "the target of a Cast follows";
  EXPECT_EQ(graph.find_value("w")->data.values<double>()[1], static_cast<double>(0.1f)) << "the value of the file";
}

TEST(Precision, Fp64WidensTensorAttributes) {
  Graph graph;
  graph.add_node({"", "ConstantOfShape"}, {&graph.add_data("s", HostTensor::from<int64_t>({1}, {2}))}, {"y"},
                 {{"value", HostTensor::from<float>({1}, {3})}});
  PassDriver driver;
  driver.run(graph, precision_pass());
  EXPECT_EQ(graph.find_value("y")->producer()->attributes.get_tensor("value").dtype(), DType::kFloat64);
}

TEST(Precision, Fp32LeavesTheTypesOfTheFile) {
  Graph graph = small_graph();
  PassDriver driver;
  driver.prepare_and_run(graph, {specialise_pass()});
  EXPECT_EQ(graph.find_value("y")->type.text(), "float32[1,2]");
}

TEST(CheckKernels, ListsEveryNodeWithoutAKernelOfItsType) {
  Graph graph;
  graph.opsets[""] = 17;
  Value* x = &graph.add_input("x", {DType::kFloat16, {2}});
  for (const char* name : {"first", "second"}) {
    Node& node = graph.add_node({"", "Relu"}, {x}, {name});
    node.name = name;
    x = node.output(0);
    x->type = TensorType(DType::kFloat16, {2});
  }
  PassDriver driver;
  const Pass ensures_static{.name = "static", .run = [](Graph&, PassContext&) {}, .ensures = {"static"}};
  const std::string list =
      "a cpu kernel for every node, found none for 2:\n  first (Relu): float16, domain ai.onnx, opset 17\n"
      "  second (Relu): float16, domain ai.onnx, opset 17";
  for (const Pass& pass : {check_kernels_pass(), supported_types_pass()}) {
    expect_error(ErrorKind::kModel, list, [&] { driver.run(graph, {ensures_static, pass}); });
  }
}

// Conv with bias, BatchNormalization, Flatten-free matrix product with bias behind a Transpose.
Graph network() {
  Graph graph;
  graph.opsets[""] = 17;
  const auto zeros = [&](const char* name, const Shape& shape) {
    return &graph.add_data(name, HostTensor(DType::kFloat32, shape));
  };
  Value& x = add_image_input(graph, "x", {Dim("N"), 8, 6, 6});
  Node& conv = graph.add_node({"", "Conv"}, {&x, zeros("conv.weight", {64, 8, 3, 3}), zeros("conv.bias", {64})}, {"c"},
                              {{"kernel_shape", Shape{3, 3}}});
  graph.add_output(*graph
                        .add_node({"", "BatchNormalization"},
                                  {conv.output(0), zeros("bn.weight", {64}), zeros("bn.bias", {64}),
                                   zeros("bn.mean", {64}), zeros("bn.var", {64})},
                                  {"y"})
                        .output(0));
  Value& v = add_image_input(graph, "v", {Dim("N"), 50});
  Node& transpose = graph.add_node({"", "Transpose"}, {zeros("fc.weight", {100, 50})}, {"t"}, {{"perm", Shape{1, 0}}});
  Node& product = graph.add_node({"", "MatMul"}, {&v, transpose.output(0)}, {"m"});
  graph.add_output(*graph.add_node({"", "Add"}, {product.output(0), zeros("fc.bias", {100})}, {"z"}).output(0));
  graph.add_output(*graph
                        .add_node({"", "Gemm"}, {&v, zeros("gemm.weight", {30, 50}), zeros("gemm.bias", {30})}, {"g"},
                                  {{"transB", int64_t{1}}})
                        .output(0));
  for (const Value* value : graph.value_list()) {
    if (!value->data.empty()) graph.find_value(value->name())->role = Role::kParameter;
  }
  for (const char* name : {"bn.mean", "bn.var"}) graph.find_value(name)->role = Role::kState;
  return graph;
}

// initialise_pass needs roles, which the graph above has.
void initialise(Graph& graph, uint64_t seed) {
  ProgramOptions options{.seed = seed};
  PassContext context{.options = options, .request = {}, .registry = registry()};
  initialise_pass().run(graph, context);
}

double deviation(const Graph& graph, const std::string& name) {
  double sum = 0;
  const std::vector<double> values = graph.find_value(name)->data.to_double();
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double largest(const Graph& graph, const std::string& name) {
  double most = 0;
  for (const double value : graph.find_value(name)->data.to_double()) most = std::max(most, std::abs(value));
  return most;
}

TEST(Initialise, KaimingByFanIn) {
  Graph graph = network();
  initialise(graph, 1);
  EXPECT_NEAR(deviation(graph, "conv.weight"), std::sqrt(2.0 / 72), 0.05 * std::sqrt(2.0 / 72));
  EXPECT_NEAR(deviation(graph, "fc.weight"), std::sqrt(2.0 / 50), 0.05 * std::sqrt(2.0 / 50));
  EXPECT_NEAR(deviation(graph, "gemm.weight"), std::sqrt(2.0 / 50), 0.08 * std::sqrt(2.0 / 50));
  for (const auto& [name, fan_in] : {std::pair{"conv.bias", 72.0}, {"fc.bias", 50.0}, {"gemm.bias", 50.0}}) {
    EXPECT_LE(largest(graph, name), 1 / std::sqrt(fan_in)) << name;
    EXPECT_GE(largest(graph, name), 0.8 / std::sqrt(fan_in)) << name;
  }
  EXPECT_EQ(graph.find_value("bn.weight")->data.to_double(), std::vector<double>(64, 1));
  EXPECT_EQ(graph.find_value("bn.var")->data.to_double(), std::vector<double>(64, 1));
  EXPECT_EQ(graph.find_value("bn.bias")->data.to_double(), std::vector<double>(64, 0));
}

TEST(Initialise, DependsOnSeedAndNameOnly) {
  Graph a = network(), b = network(), other = network();
  initialise(a, 1);
  initialise(b, 1);
  initialise(other, 2);
  EXPECT_EQ(a.find_value("conv.weight")->data.to_double(), b.find_value("conv.weight")->data.to_double());
  EXPECT_NE(a.find_value("conv.weight")->data.to_double(), other.find_value("conv.weight")->data.to_double());
  EXPECT_NE(a.find_value("fc.weight")->data.to_double().front(), a.find_value("conv.weight")->data.to_double().front());
}

TEST(Initialise, LeavesTensorsThatAreNotTrained) {
  Graph graph = network();
  graph.find_value("conv.weight")->role = Role::kConstant;
  initialise(graph, 1);
  EXPECT_EQ(largest(graph, "conv.weight"), 0);
}

}  // namespace
}  // namespace onward::test
