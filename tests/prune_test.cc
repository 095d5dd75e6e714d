#include "passes/prune.h"

#include "graph/scalars.h"
#include "tests/support/net.h"

namespace onward::test {
namespace {

void prune(Graph& graph) {
  const ProgramOptions options;
  PassContext context{.options = options, .request = {}, .registry = registry()};
  run_passes(graph, {prune_pass()}, context);
}

TEST(Prune, RemovesWhatReachesNoOutput) {
  Net net;
  Value* x = net.input("x", {2, 3});
  Value* kept = net.op("Relu", {x}, "kept");
  Value* dead = net.op("Mul", {kept, net.constant("two", {}, {2})}, "dead");
  net.op("Relu", {dead}, "deader");
  net.graph.add_output(*kept);
  prune(net.graph);
  EXPECT_EQ(net.graph.nodes().size(), 1u);
  EXPECT_EQ(net.graph.find_value("two"), nullptr);
}

TEST(Prune, KeepsUpdatesAndGradientsAndEveryParameter) {
  Net net;
  Value* w = net.parameter("w", {3});
  Value* v = net.parameter("v", {3});
  net.parameter("unused", {3});
  net.graph.add_update(*w, *net.op("Neg", {w}, "next"));
  net.graph.add_gradient(*v, *net.op("Neg", {v}, "dv"));
  prune(net.graph);
  EXPECT_EQ(net.graph.nodes().size(), 2u);
  EXPECT_NE(net.graph.find_value("unused"), nullptr);
}

TEST(Prune, DropsScalarsThatNobodyReadsButNotInputs) {
  Net net;
  net.input("x", {2});
  net.graph.add_input(kLearningRate, {DType::kFloat64, {}}, Role::kScalar);
  prune(net.graph);
  ASSERT_EQ(net.graph.inputs().size(), 1u);
  EXPECT_EQ(net.graph.inputs()[0]->name(), "x");
}

TEST(Prune, DropsTrailingOutputsThatTheOpDoesNotDemand) {
  Net net;
  Value* y = net.batch_norm(net.input("x", {4, 2}), "bn");
  net.graph.add_output(*y);
  prune(net.graph);
  EXPECT_EQ(y->producer()->outputs().size(), 3u);  // the running statistics are read by updates
}

}  // namespace
}  // namespace onward::test
