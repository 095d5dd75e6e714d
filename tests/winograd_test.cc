#include <algorithm>
#include <cmath>

#include "ops/core/host_run.h"
#include "ops/core/infer_context.h"
#include "ops/core/layout.h"
#include "tests/support/tensors.h"

namespace onward::test {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  int64_t batch, in, out, height, width;
  bool bias;
};

Attributes attributes_of(const OpId& op, const Case& c) {
  Attributes attributes{{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}};
  if (op.name == "ConvGradInput") attributes.set("input_shape", Ints{c.batch, c.in, c.height, c.width});
  if (op.name == "ConvGradWeight") attributes.set("weight_shape", Ints{c.out, c.in, 3, 3});
  return attributes;
}

std::vector<Shape> inputs_of(const OpId& op, const Case& c) {
  const Shape x{c.batch, c.in, c.height, c.width}, y{c.batch, c.out, c.height, c.width}, w{c.out, c.in, 3, 3};
  if (op.name == "ConvGradInput") return {y, w};
  if (op.name == "ConvGradWeight") return {x, y};
  return c.bias ? std::vector<Shape>{x, w, {c.out}} : std::vector<Shape>{x, w};
}

// The kernel that a spec with `winograd` gets and one without does not; nullptr if there is none.
const KernelDef* winograd_kernel(const Node& node) {
  KernelSpec spec = kernel_spec(node);
  const KernelDef* without = registry().kernel(spec, Backend::kCpu);
  spec.winograd = true;
  const KernelDef* with = registry().kernel(spec, Backend::kCpu);
  return with == without ? nullptr : with;
}

struct Prepared {
  Graph graph;
  Node* node;
  std::vector<HostTensor> inputs;
};

Prepared prepare(const OpId& op, const Case& c, DType dtype) {
  Prepared run;
  std::vector<Value*> values;
  uint64_t seed = 1;
  for (const Shape& shape : inputs_of(op, c)) {
    // Rounded to fp32 in either type, so that both compute with the same numbers.
    run.inputs.push_back(random_tensor(DType::kFloat32, shape, -1, 1, seed++).cast(dtype));
    values.push_back(&run.graph.add_input("x", {dtype, shape}));
  }
  run.node = &run.graph.add_node(op, values, {"y"}, attributes_of(op, c));
  infer_node(*run.node, registry());
  return run;
}

// Root of the mean square of the difference, relative to that of the expected values.
double relative_error(const HostTensor& found, const HostTensor& expected) {
  const auto a = found.to_double(), b = expected.to_double();
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference / size);
}

class Winograd : public testing::TestWithParam<const char*> {
 protected:
  OpId op() const { return {std::string(GetParam()) == "Conv" ? "" : kOnwardDomain, GetParam()}; }
};

TEST_P(Winograd, AgreesWithTheDirectSum) {
  const std::vector<Case> cases{{2, 32, 48, 8, 8, true},
                                {1, 48, 32, 7, 7, false},
                                {3, 32, 32, 4, 13, true},
                                {2, 64, 32, 1, 2, false},
                                {5, 80, 64, 9, 6, true}};
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.batch << "x" << c.in << "->" << c.out << " " << c.height << "x" << c.width);
    Prepared exact = prepare(op(), c, DType::kFloat64), fast = prepare(op(), c, DType::kFloat32);
    const KernelDef* kernel = winograd_kernel(*fast.node);
    if (!kernel) GTEST_SKIP() << "built without it";
    const auto expected = run_node_on_host(*exact.node, exact.inputs, registry(), {.max_priority = 0});
    const auto found =
        run_node_on_host(*fast.node, fast.inputs, registry(), {.kernel = kernel, .threads = 2, .fill_with_nan = true});
    EXPECT_LT(relative_error(found[0], expected[0]), 1e-5);
    const auto again =
        run_node_on_host(*fast.node, fast.inputs, registry(), {.kernel = kernel, .threads = 2, .fill_with_nan = true});
    EXPECT_TRUE(same_bits(found[0], again[0]));
  }
}

// Large enough for several full blocks of images and a smaller one: an image takes 0.6 of the 2 MiB of a block.
TEST_P(Winograd, BlocksOfImagesJoin) {
  const Case c{8, 32, 32, 32, 32, true};
  Prepared exact = prepare(op(), c, DType::kFloat64), fast = prepare(op(), c, DType::kFloat32);
  const KernelDef* kernel = winograd_kernel(*fast.node);
  if (!kernel) GTEST_SKIP() << "built without it";
  const auto expected = run_node_on_host(*exact.node, exact.inputs, registry(), {.threads = 2});
  const auto found =
      run_node_on_host(*fast.node, fast.inputs, registry(), {.kernel = kernel, .threads = 2, .fill_with_nan = true});
  EXPECT_LT(relative_error(found[0], expected[0]), 1e-5);
}

TEST_P(Winograd, IsNotChosenElsewhere) {
  for (const Case& c : {Case{1, 16, 32, 8, 8, false}, Case{1, 40, 32, 8, 8, false}}) {
    EXPECT_EQ(winograd_kernel(*prepare(op(), c, DType::kFloat32).node), nullptr);
  }
  Prepared strided = prepare({"", "Conv"}, {1, 32, 32, 8, 8, false}, DType::kFloat32);
  strided.node->attributes.set("strides", Ints{2, 2});
  infer_node(*strided.node, registry());
  EXPECT_EQ(winograd_kernel(*strided.node), nullptr);
  EXPECT_EQ(winograd_kernel(*prepare(op(), {1, 32, 32, 8, 8, false}, DType::kFloat64).node), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Directions, Winograd, testing::Values("Conv", "ConvGradInput", "ConvGradWeight"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace onward::test
