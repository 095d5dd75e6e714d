#pragma once
#include <optional>
#include <vector>

#include "ops/core/registry.h"
#include "tests/support/op_case.h"

namespace onward::test {

// Runs one kernel on a sample in every layout it takes, on teams of the given sizes, against the plain fp64 CPU kernel;
// twice the same bits; whatever outputs and workspace held before; and in place where the record allows it. Returns
// whether the kernel takes the sample.
bool check_kernel(const OpDef& def, const SampleCase& sample, const KernelDef& kernel, DType dtype,
                  const std::vector<int>& team_sizes);

// The tensors in fp64: what a kernel of a narrower type is compared on.
std::vector<MaybeTensor> widened(const std::vector<MaybeTensor>& tensors);
// Fails where a kernel of type `dtype` is further from the fp64 results than its rounding explains, `slack` times over.
void expect_close_in(DType dtype, const std::vector<MaybeTensor>& found, const std::vector<MaybeTensor>& expected,
                     double slack = 1);

// The sample as an empty share of a batch, with the distributions of its values; nullopt if its rules take no such
// split.
std::optional<OpCase> zero_row_case(const OpDef& def, const SampleCase& sample, DType dtype);

}  // namespace onward::test
