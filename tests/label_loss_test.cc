#include <cmath>

#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace onward::test {
namespace {

const OpId kLoss{"", "SoftmaxCrossEntropyLoss"};

HostTensor labels(const std::vector<int64_t>& values) {
  return HostTensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
}

Attributes reduction(const char* name) { return {{"reduction", std::string(name)}}; }

template <typename T>
std::vector<double> losses(const Shape& shape, const std::vector<T>& scores, const std::vector<int64_t>& label) {
  return run_op(kLoss, {HostTensor::from<T>(shape, scores), labels(label)}, reduction("none"))[0]->to_double();
}

template <typename T>
void expect_exact_on_large_logits() {
  const std::vector<T> line{1000, 0, -1000};
  for (int64_t label = 0; label < 3; ++label) {
    EXPECT_NEAR(losses<T>({1, 3}, line, {label})[0], 1000.0 * static_cast<double>(label), 1e-9);
  }
  EXPECT_NEAR(losses<T>({1, 2}, {1e8, 1e8}, {0})[0], std::log(2.0), 1e-7);
  EXPECT_NEAR(losses<T>({1, 3}, {-431, 279, 427}, {0})[0], 858, 1e-9);
}

TEST(SoftmaxCrossEntropyLoss, F1_LargeLogits) {
  expect_exact_on_large_logits<float>();
  expect_exact_on_large_logits<double>();
}

TEST(SoftmaxCrossEntropyLoss, F1_GradientOfLargeLogits) {
  OpCase made = make_case(registry().op(kLoss), {.attributes = reduction("mean")},
                          {HostTensor::from<double>({1, 3}, {-431, 279, 427}), labels({0})});
  const auto gradients = gradients_by_rule(made, {HostTensor::scalar(1.0)}, {true, false});
  EXPECT_TRUE(all_close(*gradients[0], HostTensor::from<double>({1, 3}, {-1, 0, 1}), 1e-12));
}

// Two of four labels count, with weights 2 and 0.5.
TEST(SoftmaxCrossEntropyLoss, MeanDividesByTheWeightsThatCount) {
  const HostTensor scores = random_tensor(DType::kFloat64, {4, 3}, -1, 1, 5);
  const HostTensor weights = HostTensor::from<double>({3}, {2, 1, 0.5});
  Attributes none = reduction("none"), mean = reduction("mean");
  for (Attributes* attributes : {&none, &mean}) attributes->set("ignore_index", int64_t{1});
  const auto terms = run_op(kLoss, {scores, labels({0, 1, 2, 1}), weights}, none)[0]->to_double();
  EXPECT_EQ(terms[1], 0);
  EXPECT_EQ(terms[3], 0);
  EXPECT_NEAR(run_op(kLoss, {scores, labels({0, 1, 2, 1}), weights}, mean)[0]->to_double()[0],
              (terms[0] + terms[2]) / 2.5, 1e-14);
}

TEST(SoftmaxCrossEntropyLoss, AllIgnoredIsZeroForwardAndBackward) {
  Attributes attributes = reduction("mean");
  attributes.set("ignore_index", int64_t{-100});
  const HostTensor scores = random_tensor(DType::kFloat64, {2, 3}, -1, 1, 5);
  OpCase made = make_case(registry().op(kLoss), {.attributes = attributes}, {scores, labels({-100, -100})});
  EXPECT_EQ(run_op(kLoss, made.inputs, attributes)[0]->to_double()[0], 0);
  const auto gradients = gradients_by_rule(made, {HostTensor::scalar(1.0)}, {true, false});
  EXPECT_EQ(gradients[0]->to_double(), std::vector<double>(6, 0.0));
}

TEST(SoftmaxCrossEntropyLoss, RefusesALabelThatIsNoClass) {
  const HostTensor scores(DType::kFloat32, {3, 10});
  expect_error(ErrorKind::kData, "a label from 0 to 9, found 10 in row 1", [&] {
    run_op(kLoss, {scores, labels({0, 10, 0})});
  });
  expect_error(ErrorKind::kData, "found -1 in row 2", [&] { run_op(kLoss, {scores, labels({0, 1, -1})}); });
  expect_error(ErrorKind::kModel, "labels of shape 3, found int64[2]", [&] {
    run_op(kLoss, {scores, labels({0, 1})});
  });
}

TEST(SoftmaxCrossEntropyLoss, IsLogSoftmaxAndNegativeLogLikelihood) {
  const HostTensor scores = random_tensor(DType::kFloat64, {2, 4, 3}, -2, 2, 9);
  const HostTensor map = random_tensor(DType::kInt32, {2, 3}, 0, 3, 4);
  const auto both = run_op(kLoss, {scores, map}, reduction("mean"), 2);
  const auto log_prob = run_op({"", "LogSoftmax"}, {scores}, {{"axis", int64_t{1}}})[0];
  EXPECT_TRUE(all_close(*both[1], *log_prob, 1e-15));
  EXPECT_TRUE(
      all_close(*both[0], *run_op({"", "NegativeLogLikelihoodLoss"}, {log_prob, map}, reduction("mean"))[0], 1e-15));
}

// Scores for which class (row mod 10) wins, in shares of a batch of 60.
std::pair<int64_t, int64_t> counts_of_share(int64_t begin, int64_t end) {
  HostTensor scores = random_tensor(DType::kFloat32, {end - begin, 10}, 0, 1, 3);
  std::vector<int64_t> label;
  for (int64_t row = begin; row < end; ++row) {
    label.push_back(row % 10);
    scores.edit_values<float>()[static_cast<std::size_t>((row - begin) * 10 + row % 10)] = 2;
  }
  const auto counts = run_op({kOnwardDomain, "CorrectCounts"}, {scores, labels(label)}, {}, 2);
  return {counts[0]->to_int64()[0], counts[1]->to_int64()[0]};
}

TEST(CorrectCounts, A15_APerfectModelIsAllRightOnAnyNumberOfReplicas) {
  for (int64_t replicas = 1; replicas <= 4; ++replicas) {
    int64_t top1 = 0, top5 = 0;
    for (int64_t r = 0; r < replicas; ++r) {
      const auto [one, five] = counts_of_share(60 * r / replicas, 60 * (r + 1) / replicas);
      top1 += one;
      top5 += five;
    }
    EXPECT_EQ(top1, 60) << replicas << " replicas";
    EXPECT_EQ(top5, 60) << replicas << " replicas";
  }
}

TEST(CorrectCounts, TiesNaNAndIgnoredLabels) {
  const OpId op{kOnwardDomain, "CorrectCounts"};
  const auto count = [&](const std::vector<double>& scores, int64_t label, const Attributes& attributes = {}) {
    const auto counts =
        run_op(op, {HostTensor::from<double>({1, static_cast<int64_t>(scores.size())}, scores), labels({label})},
               attributes, 2);
    return std::make_pair(counts[0]->to_int64()[0], counts[1]->to_int64()[0]);
  };
  using Pair = std::pair<int64_t, int64_t>;
  EXPECT_EQ(count({1, 1, 1, 1, 1, 1}, 0), Pair(1, 1)) << "the lowest index wins";
  EXPECT_EQ(count({1, 1, 1, 1, 1, 1}, 4), Pair(0, 1));
  EXPECT_EQ(count({1, 1, 1, 1, 1, 1}, 5), Pair(0, 0));
  EXPECT_EQ(count({NAN, 0, 0}, 0), Pair(0, 0));
  EXPECT_EQ(count({NAN, 1, 0}, 1), Pair(0, 1));
  EXPECT_EQ(count({1, 0}, 0, {{"ignore_index", int64_t{0}}}), Pair(0, 0));
}

}  // namespace
}  // namespace onward::test
