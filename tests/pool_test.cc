#include <cmath>
#include <limits>

#include "graph/error.h"
#include "ops/core/gradient_context.h"
#include "ops/core/host_run.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"

namespace onward::test {
namespace {

using Ints = std::vector<int64_t>;
using testing::ElementsAre;

constexpr int kPlain = 0, kBest = 1 << 30;

struct Pool {
  Graph graph;
  Node* node;
};

Pool pool(const char* op, DType dtype, const Shape& shape, Attributes attributes,
          const std::vector<std::string>& outputs = {"y"}) {
  Pool p;
  Value& x = p.graph.add_input("x", {dtype, shape});
  p.node = &p.graph.add_node({"", op}, {&x}, outputs, std::move(attributes));
  infer_node(*p.node, registry());
  return p;
}

HostTensor tensor(DType dtype, const Shape& shape, const std::vector<double>& values) {
  return HostTensor::from<double>(shape, values).cast(dtype);
}

std::vector<HostTensor> run(const Node& node, const std::vector<HostTensor>& inputs, int max_priority = kBest) {
  return run_node_on_host(node, inputs, registry(),
                          {.max_priority = max_priority, .threads = 2, .fill_with_nan = true});
}

// dy -> dx through the gradient rule: the forward node runs with the outputs the rule asked for, then the emitted node.
std::vector<double> gradient(const char* op, DType dtype, const HostTensor& x, const std::vector<double>& dy_values,
                             Attributes attributes, int max_priority) {
  Pool p = pool(op, dtype, x.shape(), std::move(attributes));
  Value* dy = &p.graph.add_input("dy", p.node->output(0)->type);
  GradientContext context(p.graph, *p.node, {dy}, {true}, registry());
  registry().op(p.node->op()).gradient(context);
  const auto forward = run(*p.node, {x}, max_priority);
  const Node& backward = *context.dxs()[0]->producer();
  std::vector<HostTensor> inputs{tensor(dtype, dy->type.shape(), dy_values)};
  if (backward.inputs().size() > 1) inputs.push_back(forward[2]);
  return run(backward, inputs, max_priority)[0].to_double();
}

TEST(MaxPool, F5_TheFirstOfEqualMaximaTakesTheGradient) {
  for (const int priority : {kPlain, kBest}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      EXPECT_THAT(gradient("MaxPool", dtype, tensor(dtype, {1, 1, 3}, {.6, .6, .3}), {1}, {{"kernel_shape", Ints{3}}},
                           priority),
                  ElementsAre(1, 0, 0));
    }
  }
}

TEST(MaxPool, F5_OverlappingWindowsAddUp) {
  for (const int priority : {kPlain, kBest}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const HostTensor x = tensor(dtype, {1, 1, 3, 3}, {1, 2, 3, 4, 88, 6, 7, 8, 9});
      EXPECT_THAT(gradient("MaxPool", dtype, x, {1, 1, 1, 1}, {{"kernel_shape", Ints{2, 2}}}, priority),
                  ElementsAre(0, 0, 0, 0, 4, 0, 0, 0, 0));
    }
  }
}

TEST(MaxPool, PaddingNeverWinsAndTakesNoGradient) {
  for (const int priority : {kPlain, kBest}) {
    const HostTensor x = tensor(DType::kFloat32, {1, 1, 2}, {-5, -7});
    const Attributes attributes{{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}};
    Pool p = pool("MaxPool", DType::kFloat32, {1, 1, 2}, attributes);
    EXPECT_THAT(run(*p.node, {x}, priority)[0].to_double(), ElementsAre(-5, -5));
    EXPECT_THAT(gradient("MaxPool", DType::kFloat32, x, {1, 2}, attributes, priority), ElementsAre(3, 0));
  }
}

TEST(MaxPool, MinusInfinityAndNanAreValues) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const int priority : {kPlain, kBest}) {
    const Attributes attributes{{"kernel_shape", Ints{2}}, {"strides", Ints{2}}};
    const HostTensor x = tensor(DType::kFloat32, {1, 1, 4}, {-inf, -inf, nan, 3});
    Pool p = pool("MaxPool", DType::kFloat32, {1, 1, 4}, attributes);
    const auto y = run(*p.node, {x}, priority)[0].to_double();
    EXPECT_EQ(y[0], -inf);
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_THAT(gradient("MaxPool", DType::kFloat32, x, {1, 2}, attributes, priority), ElementsAre(1, 0, 2, 0));
  }
}

TEST(MaxPool, IndicesCountInEitherOrder) {
  const HostTensor x = tensor(DType::kFloat32, {1, 2, 2, 3}, {1, 9, 2, 3, 4, 8, 7, 1, 2, 3, 4, 5});
  for (const int64_t order : {0, 1}) {
    Pool p = pool("MaxPool", DType::kFloat32, {1, 2, 2, 3}, {{"kernel_shape", Ints{2, 2}}, {"storage_order", order}},
                  {"y", "i"});
    const auto outputs = run(*p.node, {x});
    EXPECT_THAT(outputs[0].to_double(), ElementsAre(9, 9, 7, 5));
    const int64_t first = order == 0 ? 1 : 2;
    EXPECT_THAT(outputs[1].to_int64(), ElementsAre(first, first, 6, 11));
  }
}

TEST(MaxPool, PoolsBytes) {
  Pool p = pool("MaxPool", DType::kUInt8, {1, 1, 2, 2}, {{"kernel_shape", Ints{2, 2}}});
  EXPECT_THAT(run(*p.node, {HostTensor::from<uint8_t>({1, 1, 2, 2}, {1, 200, 3, 4})})[0].values<uint8_t>(),
              ElementsAre(200));
}

// The samples of the record ask for Indices, which the channels-last kernel does not give, or for no window.
TEST(MaxPool, ChannelsLastWindowsAreThoseOfThePlainKernel) {
  for (const SampleCase& sample : registry().op({"", "MaxPool"}).samples()) {
    SCOPED_TRACE(sample.name);
    const Shape shape = sample.inputs[0]->shape;
    Pool p = pool("MaxPool", DType::kFloat32, shape, sample.attributes, {"y", "", "w"});
    std::vector<double> values;
    for (int64_t i = 0; i < element_count(shape); ++i) values.push_back(static_cast<double>(i * 7919 % 13) - 6);
    const HostTensor x = tensor(DType::kFloat32, shape, values);
    const auto plain = run(*p.node, {x}, kPlain), fast = run(*p.node, {x});
    EXPECT_EQ(plain[0].to_double(), fast[0].to_double());
    EXPECT_EQ(plain[2].to_int64(), fast[2].to_int64());
  }
}

TEST(MaxPool, LargeWindowsNeedWiderPositions) {
  EXPECT_EQ(pool("MaxPool", DType::kFloat32, {1, 1, 15, 17}, {{"kernel_shape", Ints{15, 17}}}, {"y", "", "w"})
                .node->output(2)
                ->type.dtype,
            DType::kUInt8);
  EXPECT_EQ(pool("MaxPool", DType::kFloat32, {1, 1, 16, 16}, {{"kernel_shape", Ints{16, 16}}}, {"y", "", "w"})
                .node->output(2)
                ->type.dtype,
            DType::kInt32);
}

TEST(MaxPool, NormaliseWritesExplicitPads) {
  Pool p = pool("MaxPool", DType::kFloat32, {1, 1, 5, 6},
                {{"kernel_shape", Ints{2, 3}}, {"auto_pad", "SAME_LOWER"}, {"strides", Ints{2, 2}}});
  const Shape before = p.node->output(0)->type.shape();
  NormaliseContext context(p.graph, *p.node, 12, true);
  registry().op(p.node->op()).normalise(context);
  EXPECT_FALSE(p.node->attributes.has("auto_pad"));
  EXPECT_THAT(p.node->attributes.get_ints("pads"), ElementsAre(1, 1, 0, 0));
  infer_node(*p.node, registry());
  EXPECT_EQ(p.node->output(0)->type.shape(), before);
}

TEST(Pooling, NeedsAKernelShape) {
  for (const char* op : {"MaxPool", "AveragePool"}) EXPECT_THROW(pool(op, DType::kFloat32, {1, 1, 4, 4}, {}), Error);
}

TEST(AveragePool, CountsPaddingOnlyWhenAsked) {
  for (const int priority : {kPlain, kBest}) {
    const HostTensor x = tensor(DType::kFloat64, {1, 1, 3}, {3, 6, 9});
    const auto average = [&](Attributes attributes) {
      attributes.set("kernel_shape", Ints{2});
      attributes.set("pads", Ints{1, 0});
      Pool p = pool("AveragePool", DType::kFloat64, {1, 1, 3}, attributes);
      return run(*p.node, {x}, priority)[0].to_double();
    };
    EXPECT_THAT(average({}), ElementsAre(3, 4.5, 7.5));
    EXPECT_THAT(average({{"count_include_pad", int64_t{1}}}), ElementsAre(1.5, 4.5, 7.5));
  }
}

// A window that reaches past the end padding is averaged over what it meets of input and padding, not over its full
// size.
TEST(AveragePool, CeilModeNeverCountsWhatIsBeyondThePadding) {
  for (const int priority : {kPlain, kBest}) {
    for (const int64_t include_pad : {0, 1}) {
      const Attributes attributes{{"kernel_shape", Ints{3}},
                                  {"strides", Ints{2}},
                                  {"ceil_mode", int64_t{1}},
                                  {"count_include_pad", include_pad}};
      const HostTensor x = tensor(DType::kFloat64, {1, 1, 4}, {1, 2, 3, 5});
      Pool p = pool("AveragePool", DType::kFloat64, {1, 1, 4}, attributes);
      EXPECT_THAT(run(*p.node, {x}, priority)[0].to_double(), ElementsAre(2, 4));
      EXPECT_THAT(gradient("AveragePool", DType::kFloat64, x, {3, 4}, attributes, priority), ElementsAre(1, 1, 3, 2));
    }
  }
}

TEST(GlobalAveragePool, F6_GradientIsSpreadEvenly) {
  for (const int priority : {kPlain, kBest}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const auto dx =
          gradient("GlobalAveragePool", dtype, tensor(dtype, {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}), {1}, {}, priority);
      ASSERT_EQ(dx.size(), 6u);
      for (const double value : dx) EXPECT_NEAR(value, 1.0 / 6, dtype == DType::kFloat32 ? 1e-7 : 1e-15);
    }
  }
}

TEST(GlobalAveragePool, IsTheMeanOfEachChannel) {
  for (const int priority : {kPlain, kBest}) {
    Pool p = pool("GlobalAveragePool", DType::kFloat32, {1, 2, 1, 2}, {});
    EXPECT_THAT(p.node->output(0)->type.shape(), ElementsAre(1, 2, 1, 1));
    EXPECT_THAT(run(*p.node, {tensor(DType::kFloat32, {1, 2, 1, 2}, {1, 2, 10, 30})}, priority)[0].to_double(),
                ElementsAre(1.5, 20));
  }
}

}  // namespace
}  // namespace onward::test
