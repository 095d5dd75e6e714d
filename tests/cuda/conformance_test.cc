// Every CUDA kernel, run by the emulator, on the sample cases of its op's record. A new kernel is covered without being
// named here.
#include <algorithm>

#include "tests/cuda/cuda_kernels.h"
#include "tests/support/kernel_check.h"
#include "tests/support/kernel_driver.h"

namespace onward {

void PrintTo(const OpId& op, std::ostream* stream) { *stream << to_string(op); }

}  // namespace onward

namespace onward::test {
namespace {

std::vector<OpId> ops_with_cuda_kernels() {
  std::vector<OpId> ids;
  for (const auto& [id, def] : registry().ops()) {
    if (!cuda_kernels().kernels(id, Backend::kCuda).empty()) ids.push_back(id);
  }
  return ids;
}

std::string test_name(const testing::TestParamInfo<OpId>& info) {
  std::string name = info.param.domain.empty() ? "" : info.param.domain + "_";
  name += info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

class CudaKernels : public testing::TestWithParam<OpId> {
 protected:
  const OpDef& def() const { return registry().op(GetParam()); }

  template <typename Check>
  void for_each_sample(Check&& check) {
    for (const SampleCase& sample : def().samples()) {
      SCOPED_TRACE(to_string(GetParam()) + ", sample " + sample.name);
      try {
        check(sample);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Conformance, CudaKernels, testing::ValuesIn(ops_with_cuda_kernels()), test_name);

TEST_P(CudaKernels, AgreeWithThePlainFp64One) {
  int runs = 0;
  for (const KernelDef* kernel : cuda_kernels().kernels(GetParam(), Backend::kCuda)) {
    int reached = 0;
    for_each_sample(
        [&](const SampleCase& sample) { reached += check_kernel(def(), sample, *kernel, DType::kFloat32, {1}); });
    EXPECT_GT(reached, 0) << "no sample reaches the " << dtype_name(kernel->dtype) << " kernel";
    runs += reached;
  }
  RecordProperty("samples", runs);
}

// Where the plain kernel's samples have a type that CUDA has, CUDA takes them all.
TEST_P(CudaKernels, TakeWhatThePlainOneTakes) {
  for_each_sample([&](const SampleCase& sample) {
    const OpCase made = make_case(def(), sample, DType::kFloat32);
    EXPECT_NE(cuda_kernels().kernel(kernel_spec(*made.node), Backend::kCuda), nullptr);
  });
}

TEST_P(CudaKernels, TakeABatchOfZeroRows) {
  for_each_sample([&](const SampleCase& sample) {
    const std::optional<OpCase> made = zero_row_case(def(), sample, DType::kFloat32);
    if (!made) return;
    const KernelSpec spec = kernel_spec(*made->node);
    const KernelDef* kernel = cuda_kernels().kernel(spec, Backend::kCuda);
    ASSERT_NE(kernel, nullptr);
    const std::optional<OpCase> exact = zero_row_case(def(), sample, DType::kFloat64);
    expect_close_in(DType::kFloat32, run_kernel(*kernel, spec, made->inputs), run_node(*exact->node, exact->inputs));
  });
}

}  // namespace
}  // namespace onward::test
