// Where a CUDA kernel says with NaN what the CPU refuses with a message (docs/cuda.md).
#include <cmath>

#include "graph/error.h"
#include "tests/cuda/cuda_kernels.h"
#include "tests/support/kernel_driver.h"
#include "tests/support/op_case.h"

namespace onward::test {
namespace {

std::vector<MaybeTensor> run_on_cuda(const OpId& op, const std::vector<MaybeTensor>& inputs,
                                     const Attributes& attributes, int outputs) {
  const OpCase made = make_case(registry().op(op), {.outputs = outputs, .attributes = attributes}, inputs);
  const KernelSpec spec = kernel_spec(*made.node);
  return run_kernel(*cuda_kernels().kernel(spec, Backend::kCuda), spec, inputs);
}

TEST(DifferencesOnCuda, ALabelOutOfRangeMakesTheLossNaN) {
  const HostTensor scores = random_tensor(DType::kFloat32, {3, 4}, -1, 1, 7);
  for (const char* op : {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}) {
    for (const double label : {-1.0, 4.0}) {
      const std::vector<MaybeTensor> inputs{scores, tensor_of(DType::kInt64, {3}, {0, label, 2})};
      EXPECT_THROW(run_op({"", op}, inputs), Error);
      const auto loss = run_on_cuda({"", op}, inputs, {}, 1);
      EXPECT_TRUE(std::isnan(loss[0]->to_double()[0])) << op << " with label " << label;
    }
  }
}

TEST(DifferencesOnCuda, OneValuePerChannelMakesItsStatisticsNaN) {
  const HostTensor running = tensor_of(DType::kFloat32, {1}, {0.5});
  const std::vector<MaybeTensor> inputs{tensor_of(DType::kFloat64, {3}, {2, 0, 1}), running, running};
  const OpId op{kOnwardDomain, "BatchNormFinalize"};
  EXPECT_THROW(run_op(op, inputs, {}, 5), Error);
  const auto outputs = run_on_cuda(op, inputs, {}, 5);
  EXPECT_TRUE(std::isnan(outputs[1]->to_double()[0])) << "1 / standard deviation";
  EXPECT_TRUE(std::isnan(outputs[3]->to_double()[0])) << "running variance";
}

}  // namespace
}  // namespace onward::test
