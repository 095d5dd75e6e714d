// What the small samples of the records do not reach: more elements than the threads of a grid, more tensors than a
// list holds, empty tensors among them, more rows than the chunks of a reduction take at once.
#include "tests/cuda/cuda_kernels.h"
#include "tests/support/kernel_check.h"
#include "tests/support/kernel_driver.h"

namespace onward::test {
namespace {

void expect_as_on_the_cpu(const OpId& op, const std::vector<MaybeTensor>& inputs, const Attributes& attributes = {},
                          int outputs = 1) {
  const SampleCase sample{.outputs = outputs, .attributes = attributes};
  const OpCase made = make_case(registry().op(op), sample, inputs);
  const KernelSpec spec = kernel_spec(*made.node);
  const KernelDef* kernel = cuda_kernels().kernel(spec, Backend::kCuda);
  ASSERT_NE(kernel, nullptr);
  const OpCase exact = make_case(registry().op(op), sample, widened(inputs));
  expect_close_in(DType::kFloat32, run_kernel(*kernel, spec, inputs), run_node(*exact.node, exact.inputs));
}

HostTensor numbers(const Shape& shape, uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, -1, 1, seed); }

// 30 tensors: a list holds 24. Some are empty, one is longer than a chunk.
std::vector<Shape> many_shapes() {
  std::vector<Shape> shapes{{9001}, {0}, {}, {8192}};
  while (shapes.size() < 30) shapes.push_back({static_cast<int64_t>(shapes.size() % 7), 5});
  return shapes;
}

TEST(LargeOnCuda, PointwiseLoopsOverWhatAGridDoesNotHold) {
  expect_as_on_the_cpu({"", "Relu"}, {numbers({2100003})});
  expect_as_on_the_cpu({"", "Add"}, {numbers({700, 1000, 1}, 2), numbers({1, 1, 2}, 3)});
}

TEST(LargeOnCuda, BatchNormTakesMoreRowsThanChunks) {
  const Shape shape{5, 256, 60, 60}, channels{256};
  const HostTensor x = numbers(shape);
  expect_as_on_the_cpu({kOnwardDomain, "BatchNormStatistics"}, {x});
  expect_as_on_the_cpu({kOnwardDomain, "BatchNormApply"},
                       {x, numbers(channels, 2), numbers(channels, 3), numbers(channels, 4), numbers(channels, 5)});
}

TEST(LargeOnCuda, AStepTakesManyTensors) {
  std::vector<MaybeTensor> inputs{tensor_of(DType::kFloat64, {}, {0.1}), std::nullopt};
  const std::vector<Shape> shapes = many_shapes();
  for (uint64_t k = 0; k < 3; ++k) {
    for (const Shape& shape : shapes) inputs.push_back(numbers(shape, inputs.size()));
  }
  expect_as_on_the_cpu({kOnwardDomain, "MomentumStep"}, inputs,
                       {{"count", static_cast<int64_t>(shapes.size())}, {"momentum", 0.9}}, 60);
}

TEST(LargeOnCuda, NormsTakeManyTensors) {
  std::vector<MaybeTensor> inputs;
  for (const Shape& shape : many_shapes()) inputs.push_back(numbers(shape, inputs.size()));
  expect_as_on_the_cpu({kOnwardDomain, "GlobalNorm"}, inputs);
  inputs.insert(inputs.begin(), tensor_of(DType::kFloat64, {}, {3}));
  expect_as_on_the_cpu({kOnwardDomain, "ClipByNorm"}, inputs, {{"limit", 0.5}}, 30);
}

TEST(LargeOnCuda, AllFiniteFindsOneBadElementAmongManyTensors) {
  const std::vector<Shape> shapes = many_shapes();
  for (const std::size_t bad : {std::size_t{0}, shapes.size() - 1, shapes.size()}) {
    for (const float value : {INFINITY, -INFINITY, NAN}) {
      std::vector<MaybeTensor> inputs;
      for (const Shape& shape : shapes) inputs.push_back(numbers(shape, inputs.size()));
      if (bad < shapes.size()) {
        HostTensor& tensor = *inputs[bad];
        static_cast<float*>(tensor.edit())[element_count(tensor.shape()) - 1] = value;
      }
      const OpCase made = make_case(registry().op({kOnwardDomain, "AllFinite"}), {}, inputs);
      const KernelSpec spec = kernel_spec(*made.node);
      const auto found = run_kernel(*cuda_kernels().kernel(spec, Backend::kCuda), spec, inputs);
      EXPECT_EQ(found[0]->to_double()[0], bad == shapes.size()) << "tensor " << bad << ", " << value;
    }
  }
}

}  // namespace
}  // namespace onward::test
