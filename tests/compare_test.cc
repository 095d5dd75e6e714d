#include "tools/compare.h"

#include <cmath>

namespace onward::cli {
namespace {

HostTensor floats(const std::vector<float>& values) {
  return HostTensor::from<float>({static_cast<int64_t>(values.size())}, values);
}

TEST(Compare, AllowsWhatTheToleranceSays) {
  EXPECT_EQ(difference(floats({1.0009f, 0, -100.09f}), floats({1, 5e-8f, -100}), {}), "");
  EXPECT_EQ(difference(floats({1, 2, 3.5f}), floats({1, 2.1f, 3}), {}),
            "2 of 3 elements differ, most element 2: expected 3, found 3.5");
  EXPECT_EQ(difference(floats({2}), floats({1}), {.relative = 0, .absolute = 1}), "");
}

TEST(Compare, KnowsNanAndInfinity) {
  EXPECT_EQ(difference(floats({NAN, INFINITY, -INFINITY}), floats({NAN, INFINITY, -INFINITY}), {}), "");
  EXPECT_NE(difference(floats({NAN}), floats({1}), {}), "");
  EXPECT_NE(difference(floats({1}), floats({NAN}), {}), "");
  EXPECT_NE(difference(floats({INFINITY}), floats({-INFINITY}), {}), "");
  EXPECT_NE(difference(floats({1}), floats({INFINITY}), {}), "");
}

TEST(Compare, IntegersAreEqualOrNot) {
  const HostTensor a = HostTensor::from<int64_t>({2}, {1, 1'000'000}),
                   b = HostTensor::from<int64_t>({2}, {1, 1'000'001});
  EXPECT_EQ(difference(a, a, {}), "");
  EXPECT_EQ(difference(a, b, {}), "element 1: expected 1000001, found 1000000");
}

TEST(Compare, TypesAndShapesMustAgree) {
  EXPECT_EQ(difference(floats({1}), floats({1, 2}), {}), "expected float32[2], found float32[1]");
  EXPECT_EQ(difference(floats({1}), floats({1}).cast(DType::kFloat64), {}), "expected float64[1], found float32[1]");
}

TEST(Compare, SixteenBitFloatsMayDifferByOneUnit) {
  const auto in = [](DType dtype, float value) { return floats({value}).cast(dtype); };
  EXPECT_EQ(difference(in(DType::kBFloat16, 1), in(DType::kBFloat16, 1 + 0x1p-7f), {}), "");
  EXPECT_NE(difference(in(DType::kBFloat16, 1), in(DType::kBFloat16, 1 + 0x1p-6f), {}), "");
  EXPECT_EQ(difference(in(DType::kFloat16, 1), in(DType::kFloat16, 1 + 0x1p-10f), {.relative = 0}), "");
}

}  // namespace
}  // namespace onward::cli
