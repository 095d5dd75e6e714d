#include <cmath>

#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace onward::test {
namespace {

const OpId kTrain{kOnwardDomain, "DropoutTrain"};

Attributes site(double ratio, int64_t seed = 1, int64_t number = 0) {
  return {{"ratio", ratio}, {"seed", seed}, {"site", number}};
}

// (y, mask) of rows [offset, offset + rows).
std::vector<MaybeTensor> drop(const HostTensor& x, const Attributes& attributes, int64_t step = 0, int64_t offset = 0) {
  return run_op(kTrain, {x, HostTensor::scalar(step), HostTensor::scalar(offset)}, attributes, 2);
}

HostTensor ones(const Shape& shape) {
  return tensor_of(DType::kFloat64, shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), 1));
}

TEST(Dropout, B13_KeepsHalfAndDoublesIt) {
  const HostTensor x = random_tensor(DType::kFloat64, {100, 100}, 1, 2, 3);
  const auto result = drop(x, site(0.5));
  const std::vector<double> in = x.to_double(), y = result[0]->to_double(), mask = result[1]->to_double();
  double kept = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_TRUE(mask[i] == 0 || mask[i] == 2);
    ASSERT_EQ(y[i], in[i] * mask[i]);
    kept += mask[i] != 0;
  }
  EXPECT_NEAR(kept / 1e4, 0.5, 4 * std::sqrt(0.25 / 1e4));
}

TEST(Dropout, B13_GradientIsTheMask) {
  const HostTensor x = random_tensor(DType::kFloat64, {4, 5}, 1, 2, 3);
  OpCase made = make_case(registry().op(kTrain), {.attributes = site(0.5)},
                          {x, HostTensor::scalar(int64_t{3}), HostTensor::scalar(int64_t{0})});
  const auto gradients = gradients_by_rule(made, {ones({4, 5})}, {true, false, false});
  EXPECT_TRUE(same_bits(*gradients[0], *drop(x, site(0.5), 3)[1]));
}

// Rows 0-2 and 3-7 on two replicas; rows of 7, so that random blocks of four straddle the cut.
TEST(Dropout, B13_MasksAreEqualOnOneAndTwoReplicas) {
  const std::vector<double> whole = drop(ones({8, 7}), site(0.3), 5, 16)[1]->to_double();
  std::vector<double> parts = drop(ones({3, 7}), site(0.3), 5, 16)[1]->to_double();
  const std::vector<double> second = drop(ones({5, 7}), site(0.3), 5, 19)[1]->to_double();
  parts.insert(parts.end(), second.begin(), second.end());
  EXPECT_EQ(parts, whole);
  const HostTensor single = ones({8, 7}).cast(DType::kFloat32);
  const std::vector<double> narrow = drop(single, site(0.3), 5, 16)[1]->to_double();
  for (std::size_t i = 0; i < whole.size(); ++i)
    ASSERT_EQ(narrow[i] == 0, whole[i] == 0) << "fp32 drops the same elements";
}

TEST(Dropout, MasksDifferBySeedSiteAndStep) {
  const auto mask = [](const Attributes& attributes, int64_t step) {
    return drop(ones({8, 16}), attributes, step)[1]->to_double();
  };
  const auto base = mask(site(0.5, 1, 0), 0);
  EXPECT_EQ(mask(site(0.5, 1, 0), 0), base);
  EXPECT_NE(mask(site(0.5, 2, 0), 0), base);
  EXPECT_NE(mask(site(0.5, 1, 1), 0), base);
  EXPECT_NE(mask(site(0.5, 1, 0), 1), base);
}

TEST(Dropout, NaNIsDroppedLikeAnyOtherNumber) {
  HostTensor x = ones({1, 64});
  for (double& value : x.edit_values<double>()) value = NAN;
  const auto result = drop(x, site(0.5));
  const std::vector<double> y = result[0]->to_double(), mask = result[1]->to_double();
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(std::isnan(y[i]), mask[i] != 0);
}

TEST(Dropout, InferenceIsTheIdentityWithAMaskOfOnes) {
  const HostTensor x = random_tensor(DType::kFloat32, {3, 4}, -1, 1, 2);
  const NormalCase made =
      normal_case("Dropout", 13, {x.type(), HostTensor::scalar(0.5f), HostTensor(DType::kBool, {})}, {}, 2);
  EXPECT_EQ(made.node->inputs().size(), 1u);
  EXPECT_EQ(made.node->outputs().size(), 1u) << "nobody reads the mask";
  EXPECT_TRUE(same_bits(made.run({x}), x));
  EXPECT_EQ(run_op({"", "Dropout"}, {x}, {}, 2)[1]->to_int64(), std::vector<int64_t>(12, 1));
}

}  // namespace
}  // namespace onward::test
