#include "passes/untie.h"
#include "tests/support/pass_driver.h"

namespace onward::test {
namespace {

HostTensor ones(const Shape& shape) {
  return HostTensor::from<float>(shape, std::vector<float>(static_cast<std::size_t>(element_count(shape)), 1.0f));
}

// y = (x * w) + w', where w' is w itself or an Identity of it.
Graph shared_twice(const HostTensor& data, bool identity) {
  Graph graph;
  graph.opsets[""] = 15;
  Value& x = add_image_input(graph, "x", {Dim("N"), 4});
  Value& w = graph.add_data("w", data);
  Value* second = &w;
  if (identity) second = graph.add_node({"", "Identity"}, {&w}, {"w2"}).output(0);
  Node& a = graph.add_node({"", "Mul"}, {&x, &w}, {"a"});
  Node& b = graph.add_node({"", "Add"}, {a.output(0), second}, {"b"});
  graph.add_output(*b.output(0));
  return graph;
}

TEST(Untie, AnIdentityOfAUniformTensorBecomesATensorOfThatName) {
  Graph graph = shared_twice(ones({4}), true);
  PassDriver driver;
  driver.run(graph, untie_pass());
  EXPECT_EQ(ops_of(graph), "Mul Add");
  const Value* second = graph.find_value("b")->producer()->input(1);
  EXPECT_EQ(second->name(), "w2");
  EXPECT_EQ(second->data.data(), graph.find_value("w")->data.data()) << "the copy shares memory until it is written";
  ASSERT_EQ(driver.context().untied.size(), 1u);
  EXPECT_TRUE(driver.context().untied[0].identity);
  EXPECT_EQ(driver.context().untied[0].source, "w");
}

TEST(Untie, EveryFurtherReaderOfAUniformTensorGetsACopy) {
  Graph graph = shared_twice(ones({4}), false);
  PassDriver driver;
  driver.run(graph, untie_pass());
  const Value* second = graph.find_value("b")->producer()->input(1);
  EXPECT_NE(second, graph.find_value("w"));
  ASSERT_EQ(driver.context().untied.size(), 1u);
  EXPECT_EQ(driver.context().untied[0].name, second->name());
  EXPECT_EQ(driver.context().untied[0].node_output, "b");
  EXPECT_EQ(driver.context().untied[0].input, 1);
}

TEST(Untie, OtherSharingIsKept) {
  for (const bool identity : {true, false}) {
    Graph graph = shared_twice(HostTensor::from<float>({4}, {1, 1, 1, 2}), identity);
    PassDriver driver;
    driver.run(graph, untie_pass());
    EXPECT_EQ(graph.find_value("b")->producer()->input(1), graph.find_value("w"));
    EXPECT_EQ(ops_of(graph), "Mul Add");
    EXPECT_TRUE(driver.context().untied.empty());
  }
}

TEST(Untie, ScalarsAndIntegersStayShared) {
  for (const HostTensor& data : {HostTensor::scalar(1.0f), HostTensor::from<int64_t>({4}, {1, 1, 1, 1})}) {
    Graph graph = shared_twice(data, true);
    PassDriver driver;
    driver.run(graph, untie_pass());
    EXPECT_EQ(graph.find_value("b")->producer()->input(1), graph.find_value("w"));
  }
}

TEST(Untie, AnIdentityThatIsAnOutputStays) {
  Graph graph = shared_twice(ones({4}), true);
  graph.add_output(*graph.find_value("w2"));
  PassDriver driver;
  driver.run(graph, untie_pass());
  EXPECT_EQ(ops_of(graph), "Identity Mul Add");
}

}  // namespace
}  // namespace onward::test
