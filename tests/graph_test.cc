#include "graph/graph.h"

namespace onward::test {
namespace {

Graph relu_of_sum() {
  Graph graph;
  Value& a = graph.add_input("a", {DType::kFloat32, {2, 3}});
  Value& b = graph.add_input("b", {DType::kFloat32, {2, 3}});
  Node& add = graph.add_node({"", "Add"}, {&a, &b}, {"sum"});
  Node& relu = graph.add_node({"", "Relu"}, {add.output(0)}, {"y"});
  graph.add_output(*relu.output(0));
  return graph;
}

TEST(Graph, KeepsUsesAndProducers) {
  Graph graph = relu_of_sum();
  Value* sum = graph.find_value("sum");
  EXPECT_EQ(sum->producer()->op().name, "Add");
  ASSERT_EQ(sum->uses().size(), 1u);
  EXPECT_EQ(sum->uses()[0].node->op().name, "Relu");
  EXPECT_EQ(graph.find_value("y")->role, Role::kOutput);
}

TEST(Graph, ReplacesUsesInNodesAndOutputs) {
  Graph graph = relu_of_sum();
  Value* y = graph.find_value("y");
  graph.replace_uses(*y, *graph.find_value("sum"));
  EXPECT_EQ(graph.outputs()[0]->name(), "sum");
  graph.erase(*y->producer());
  EXPECT_EQ(graph.find_value("y"), nullptr);
  EXPECT_EQ(graph.nodes().size(), 1u);
}

TEST(Graph, GivesTakenNamesANumber) {
  Graph graph = relu_of_sum();
  EXPECT_EQ(graph.add_input("a", {}).name(), "a_1");
}

TEST(Graph, KeepsGradientsInTheirOrderThroughReplacementAndCopies) {
  Graph graph = relu_of_sum();
  Value& parameter = graph.add_data("w", HostTensor(DType::kFloat32, {2, 3}), Role::kParameter);
  graph.add_gradient(parameter, *graph.find_value("sum"));
  graph.replace_uses(*graph.find_value("sum"), *graph.find_value("a"));
  const Graph copy = graph.clone();
  ASSERT_EQ(copy.gradients().size(), 1u);
  EXPECT_EQ(copy.gradients()[0].parameter, copy.find_value("w"));
  EXPECT_EQ(copy.gradients()[0].gradient, copy.find_value("a"));
  EXPECT_THROW(graph.erase(parameter), std::exception);
}

TEST(Graph, CloneIsIndependent) {
  Graph graph = relu_of_sum();
  Graph copy = graph.clone();
  copy.erase(*[&] {
    copy.remove_output(*copy.find_value("y"));
    return copy.find_value("y")->producer();
  }());
  EXPECT_EQ(graph.nodes().size(), 2u);
  EXPECT_EQ(copy.nodes().size(), 1u);
}

}  // namespace
}  // namespace onward::test
