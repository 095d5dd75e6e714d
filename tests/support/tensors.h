#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "graph/layout.h"
#include "graph/tensor.h"
#include "ops/core/op_def.h"

namespace onward::test {

// An operand that may be absent.
using MaybeTensor = std::optional<HostTensor>;

// Uniform in [low, high]; whole numbers for integer types. The same for the same seed, whatever the machine.
HostTensor random_tensor(DType dtype, const Shape& shape, double low, double high, uint64_t seed);
// `values` converted to `dtype`.
HostTensor tensor_of(DType dtype, const Shape& shape, const std::vector<double>& values);
// The tensors of a sample case, with `dtype` as the type under test.
std::vector<MaybeTensor> sample_tensors(const SampleCase& sample, DType dtype);

// |found - expected| <= relative * (|expected| + max |expected|) + absolute for every element; equal for integers. NaN
// equals NaN. Types and shapes agree but for the floating type's width.
testing::AssertionResult all_close(const HostTensor& found, const HostTensor& expected, double relative,
                                   double absolute = 0);
// The same elements under another shape.
HostTensor reshaped(const HostTensor& tensor, const Shape& shape);

testing::AssertionResult same_bits(const HostTensor& found, const HostTensor& expected);

// The elements in the order in which `layout` stores them, and back. The shape stays the logical one.
HostTensor to_layout(const HostTensor& row_major, Layout layout);
HostTensor from_layout(const HostTensor& stored, Layout layout);

}  // namespace onward::test
