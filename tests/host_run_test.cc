#include "ops/core/host_run.h"

#include "graph/error.h"
#include "ops/core/infer_context.h"
#include "ops/core/layout.h"

namespace onward::test {
namespace {

HostTensor counting(const Shape& shape) {
  HostTensor tensor(DType::kFloat32, shape);
  float next = -5;
  for (float& x : tensor.edit_values<float>()) x = next++;
  return tensor;
}

TEST(Layout, ChannelsLastPutsTheChannelLast) {
  const HostTensor source = counting({2, 3, 2, 2});
  HostTensor target(DType::kFloat32, source.shape());
  convert_layout(source.data(), Layout::kRowMajor, target.edit(), Layout::kChannelsLast, source.shape(), 4);
  const auto from = source.values<float>(), to = target.values<float>();
  for (int n = 0; n < 2; ++n)
    for (int c = 0; c < 3; ++c)
      for (int p = 0; p < 4; ++p) EXPECT_EQ(to[(n * 4 + p) * 3 + c], from[(n * 3 + c) * 4 + p]);
}

TEST(Layout, ConversionThereAndBackIsTheIdentity) {
  for (const Shape& shape : {Shape{1, 1, 1}, {2, 17, 33}, {3, 40, 5, 7}, {0, 3, 4, 4}, {5, 6}, {}, {2, 3, 2, 3, 4}}) {
    const HostTensor source = counting(shape);
    HostTensor there(DType::kFloat32, shape), back(DType::kFloat32, shape);
    convert_layout(source.data(), Layout::kRowMajor, there.edit(), Layout::kChannelsLast, shape, 4);
    convert_layout(there.data(), Layout::kChannelsLast, back.edit(), Layout::kRowMajor, shape, 4);
    EXPECT_THAT(back.values<float>(), testing::ElementsAreArray(source.values<float>())) << to_string(shape);
  }
}

TEST(Layout, AgreesWhereNothingMoves) {
  EXPECT_TRUE(layouts_agree({4, 5}, Layout::kRowMajor, Layout::kChannelsLast));
  EXPECT_TRUE(layouts_agree({4, 5, 1, 1}, Layout::kRowMajor, Layout::kChannelsLast));
  EXPECT_TRUE(layouts_agree({4, 1, 3, 3}, Layout::kRowMajor, Layout::kChannelsLast));
  EXPECT_FALSE(layouts_agree({4, 2, 3, 3}, Layout::kRowMajor, Layout::kChannelsLast));
}

TEST(HostRun, RunsANodeInEitherLayoutAndInPlace) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2, 3, 2, 2}});
  Node& relu = graph.add_node({"", "Relu"}, {&x}, {"y"});
  infer_node(relu, registry());
  const HostTensor input = counting({2, 3, 2, 2});
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
    for (const bool in_place : {false, true}) {
      const auto outputs = run_node_on_host(relu, {input}, registry(),
                                            {.same_layout = layout, .in_place = in_place, .fill_with_nan = true});
      ASSERT_EQ(outputs.size(), 1u);
      const auto in = input.values<float>(), out = outputs[0].values<float>();
      for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], std::max(in[i], 0.0f));
    }
  }
  EXPECT_EQ(input.values<float>()[0], -5);
}

TEST(HostRun, RefusesAnInputOfAnotherType) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2}});
  Node& relu = graph.add_node({"", "Relu"}, {&x}, {"y"});
  infer_node(relu, registry());
  EXPECT_THROW(run_node_on_host(relu, {counting({3})}, registry()), Error);
  EXPECT_THROW(run_node_on_host(relu, {}, registry()), Error);
}

}  // namespace
}  // namespace onward::test
