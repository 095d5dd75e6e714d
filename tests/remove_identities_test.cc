#include "passes/remove_identities.h"

#include "tests/support/pass_driver.h"

namespace onward::test {
namespace {

TEST(RemoveIdentities, ReadersTakeTheSourceAndOutputsKeepTheirNames) {
  Graph graph;
  Value& x = add_image_input(graph, "x", {Dim("N"), 4});
  Value& w = graph.add_data("w", HostTensor::from<float>({4}, {1, 2, 3, 4}));
  Node& alias = graph.add_node({"", "Identity"}, {&w}, {"alias"});
  Node& second = graph.add_node({"", "Identity"}, {alias.output(0)}, {"second"});
  Node& y = graph.add_node({"", "Mul"}, {&x, second.output(0)}, {"y"});
  Node& z = graph.add_node({"", "Identity"}, {y.output(0)}, {"z"});
  graph.add_output(*z.output(0));
  PassDriver driver;
  driver.run(graph, remove_identities_pass());
  EXPECT_EQ(ops_of(graph), "Mul Identity");
  EXPECT_EQ(y.input(1), &w);
  EXPECT_EQ(graph.outputs().front()->name(), "z");
}

}  // namespace
}  // namespace onward::test
