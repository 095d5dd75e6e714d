#include "graph/error.h"
#include "ops/core/distribution_context.h"
#include "ops/core/host_run.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"

namespace onward::test {
namespace {

using testing::ElementsAre;

struct Product {
  Graph graph;
  Node* node;
};

Product product(const char* op, const std::vector<Shape>& shapes, Attributes attributes = {},
                DType dtype = DType::kFloat64) {
  Product p;
  std::vector<Value*> inputs;
  for (const Shape& shape : shapes) inputs.push_back(&p.graph.add_input("x", {dtype, shape}));
  p.node = &p.graph.add_node({"", op}, inputs, {"y"}, std::move(attributes));
  return p;
}

std::vector<double> run(Product p, const std::vector<std::vector<double>>& values, int max_priority = 1 << 30) {
  infer_node(*p.node, registry());
  std::vector<HostTensor> inputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const TensorType& type = p.node->input(i)->type;
    inputs.push_back(HostTensor::from<double>(type.shape(), values[i]).cast(type.dtype));
  }
  return run_node_on_host(*p.node, inputs, registry(), {.max_priority = max_priority, .fill_with_nan = true})[0]
      .to_double();
}

const Attribute kOne = int64_t{1};

TEST(Gemm, KnownNumbersInEveryTransposition) {
  for (const int max_priority : {0, 1 << 30}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const Attributes factors{{"alpha", 2.0f}, {"beta", 0.5f}};
      const auto with = [&](bool a, bool b) {
        Attributes attributes = factors;
        if (a) attributes.set("transA", kOne);
        if (b) attributes.set("transB", kOne);
        return attributes;
      };
      const std::vector<double> a{1, 2, 3, 4, 5, 6}, at{1, 4, 2, 5, 3, 6}, b{1, 0, 2, 1, 0, 3}, bt{1, 2, 0, 0, 1, 3},
          c{10, 20};
      const auto expected = ElementsAre(15, 32, 33, 56);  // 2 * [[5, 11], [14, 23]] + [5, 10]
      EXPECT_THAT(run(product("Gemm", {{2, 3}, {3, 2}, {2}}, with(false, false), dtype), {a, b, c}, max_priority),
                  expected);
      EXPECT_THAT(run(product("Gemm", {{3, 2}, {3, 2}, {2}}, with(true, false), dtype), {at, b, c}, max_priority),
                  expected);
      EXPECT_THAT(run(product("Gemm", {{2, 3}, {2, 3}, {2}}, with(false, true), dtype), {a, bt, c}, max_priority),
                  expected);
      EXPECT_THAT(run(product("Gemm", {{3, 2}, {2, 3}, {2}}, with(true, true), dtype), {at, bt, c}, max_priority),
                  expected);
    }
  }
}

TEST(Gemm, BroadcastsCAlongEitherDimension) {
  const std::vector<double> a{1, 2}, b{1, 10};
  EXPECT_THAT(run(product("Gemm", {{2, 1}, {1, 2}, {2, 1}}), {a, b, {100, 200}}), ElementsAre(101, 110, 202, 220));
  EXPECT_THAT(run(product("Gemm", {{2, 1}, {1, 2}, {}}), {a, b, {100}}), ElementsAre(101, 110, 102, 120));
  EXPECT_THAT(run(product("Gemm", {{2, 1}, {1, 2}, {2, 2}}), {a, b, {1, 2, 3, 4}}), ElementsAre(2, 12, 5, 24));
}

TEST(Gemm, SumOverAnEmptyBatchIsZero) {
  for (const int max_priority : {0, 1 << 30}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      EXPECT_THAT(run(product("Gemm", {{0, 2}, {0, 2}}, {{"transA", kOne}}, dtype), {{}, {}}, max_priority),
                  ElementsAre(0, 0, 0, 0));
    }
  }
}

TEST(Gemm, OldFormLosesItsBroadcastAttribute) {
  Product p = product("Gemm", {{2, 3}, {3, 2}, {2}}, {{"broadcast", kOne}});
  NormaliseContext context(p.graph, *p.node, 6, true);
  registry().op(p.node->op()).normalise(context);
  EXPECT_FALSE(p.node->attributes.has("broadcast"));
}

Distribution distributed(Product p, const std::vector<Distribution>& inputs) {
  infer_node(*p.node, registry());
  for (std::size_t i = 0; i < inputs.size(); ++i) p.node->input(i)->distribution = inputs[i];
  distribute_node(*p.node, 2, registry());
  return p.node->output(0)->distribution;
}

constexpr auto kSplit = Distribution::kBatchSplit;
constexpr auto kSame = Distribution::kReplicated;
constexpr auto kPartial = Distribution::kPartial;

TEST(Gemm, DistributionFollowsTheRows) {
  EXPECT_EQ(distributed(product("Gemm", {{4, 3}, {3, 5}, {5}}), {kSplit, kSame, kSame}), kSplit);
  EXPECT_EQ(distributed(product("Gemm", {{4, 3}, {3, 5}, {4, 5}}), {kSplit, kSame, kSplit}), kSplit);
  EXPECT_EQ(distributed(product("Gemm", {{4, 3}, {4, 5}}, {{"transA", kOne}}), {kSplit, kSplit}), kPartial);
  EXPECT_EQ(distributed(product("Gemm", {{4, 3}, {3, 5}}), {kPartial, kSame}), kPartial);
  EXPECT_EQ(distributed(product("Gemm", {{4, 3}, {3, 5}}), {kSame, kSame}), kSame);
  EXPECT_THROW(distributed(product("Gemm", {{4, 3}, {5, 3}}, {{"transB", kOne}}), {kSame, kSplit}), Error);
  EXPECT_THROW(distributed(product("Gemm", {{4, 3}, {4, 5}, {5}}, {{"transA", kOne}}), {kSplit, kSplit, kSame}), Error);
  EXPECT_THROW(distributed(product("Gemm", {{4, 3}, {3, 5}}), {kPartial, kPartial}), Error);
}

TEST(MatMul, DistributionFollowsTheRows) {
  EXPECT_EQ(distributed(product("MatMul", {{4, 3}, {3, 5}}), {kSplit, kSame}), kSplit);
  EXPECT_EQ(distributed(product("MatMul", {{2, 4, 3}, {3, 5}}), {kSplit, kSame}), kSplit);
  EXPECT_EQ(distributed(product("MatMul", {{2, 4, 3}, {2, 3, 5}}), {kSplit, kSplit}), kSplit);
  EXPECT_EQ(distributed(product("MatMul", {{4, 3}, {2, 3, 5}}), {kSame, kSplit}), kSplit);
  EXPECT_EQ(distributed(product("MatMul", {{4}, {4, 5}}), {kSplit, kSplit}), kPartial);
  EXPECT_THROW(distributed(product("MatMul", {{4, 3}, {3, 5}}), {kSame, kSplit}), Error);
  EXPECT_THROW(distributed(product("MatMul", {{4, 3}, {2, 3, 5}}), {kSplit, kSame}), Error);
  EXPECT_THROW(distributed(product("MatMul", {{2, 4, 3}, {2, 3, 5}}), {kPartial, kPartial}), Error);
}

TEST(MatMul, BroadcastsBatchDimensions) {
  for (const int max_priority : {0, 1 << 30}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      EXPECT_THAT(run(product("MatMul", {{2, 1, 1, 2}, {2, 2, 1}}, {}, dtype), {{1, 2, 3, 4}, {1, 10, 100, 1000}},
                      max_priority),
                  ElementsAre(21, 2100, 43, 4300));
      EXPECT_THAT(run(product("MatMul", {{2}, {2}}, {}, dtype), {{1, 2}, {3, 4}}, max_priority), ElementsAre(11));
    }
  }
}

TEST(MatMul, ErrorsNameTheShapes) {
  for (const std::vector<Shape>& shapes :
       std::vector<std::vector<Shape>>{{{2, 3}, {2, 3}}, {{}, {2}}, {{2, 2, 3}, {3, 3, 2}}}) {
    Product p = product("MatMul", shapes);
    try {
      infer_node(*p.node, registry());
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(to_string(shapes[0])));
    }
  }
}

TEST(Transpose, MovesElementsOfAnySize) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kUInt8, {2, 3, 1}});
  Node& node = graph.add_node({"", "Transpose"}, {&x}, {"y"}, {{"perm", std::vector<int64_t>{1, 2, 0}}});
  infer_node(node, registry());
  const auto y = run_node_on_host(node, {HostTensor::from<uint8_t>({2, 3, 1}, {1, 2, 3, 4, 5, 6})}, registry());
  EXPECT_THAT(y[0].shape(), ElementsAre(3, 1, 2));
  EXPECT_THAT(y[0].values<uint8_t>(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  Product p = product("Transpose", {{2, 3}}, {{"perm", std::vector<int64_t>{0, 0}}});
  EXPECT_THROW(infer_node(*p.node, registry()), Error);
  Product q = product("Transpose", {{2, 3}}, {{"perm", std::vector<int64_t>{1, 0}}});
  EXPECT_THROW(distributed(std::move(q), {kSplit}), Error);
}

}  // namespace
}  // namespace onward::test
