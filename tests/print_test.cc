#include "graph/print.h"

namespace onward::test {
namespace {

Graph sample() {
  Graph graph;
  TensorType images{DType::kFloat32, {2, 3}};
  (*images.dims)[0] = Dim(std::string("N"));
  Value& x = graph.add_input("x", images);
  x.distribution = Distribution::kBatchSplit;
  Value& shape = graph.add_data("shape", HostTensor::from<int64_t>({2}, {0, -1}));
  Value& w = graph.add_data("w", HostTensor(DType::kFloat32, {3, 3}), Role::kParameter);
  Node& reshape = graph.add_node({"", "Reshape"}, {&x, &shape}, {"flat"}, {{"allowzero", int64_t{0}}});
  reshape.name = "flatten";
  Node& gemm = graph.add_node({"", "Gemm"}, {reshape.output(0), &w, nullptr}, {"y", "", "extra"});
  gemm.origin = "backward of fc";
  Node& step = graph.add_node({kOnwardDomain, "Step"}, {&w}, {"w_next"});
  graph.add_output(*gemm.output(0));
  graph.add_gradient(w, *gemm.output(2));
  graph.add_update(w, *step.output(0));
  return graph;
}

TEST(Print, WritesOneLineANode) {
  EXPECT_EQ(print(sample()),
            "input %x: float32[N,3] batch-split\n"
            "parameter %w: float32[3,3]\n"
            "constant %shape: int64[2] = [0,-1]\n"
            "%flat: undefined[?] = Reshape(%x, %shape) allowzero=0  # flatten\n"
            "%y: undefined[?], -, %extra: undefined[?] = Gemm(%flat, %w, -)  # backward of fc\n"
            "%w_next: undefined[?] = onward::Step(%w)\n"
            "output %y\n"
            "gradient %w <- %extra\n"
            "update %w <- %w_next\n");
}

TEST(Print, LeavesOutWhatIsNotAsked) {
  const std::string text = print(sample(), {.origins = false, .distributions = false, .attributes = false});
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("#")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("batch-split")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("allowzero")));
}

TEST(Print, IsTheSameForAClone) {
  const Graph graph = sample();
  EXPECT_EQ(print(graph), print(graph.clone()));
}

}  // namespace
}  // namespace onward::test
