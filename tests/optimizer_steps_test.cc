// Optimizer steps on numbers worked out by hand.
#include <cmath>

#include "graph/error.h"
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"
#include "ops/optimizers/step_operands.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace onward::test {
namespace {

HostTensor flag(bool value) {
  HostTensor tensor(DType::kBool, {});
  tensor.edit_values<bool>()[0] = value;
  return tensor;
}

class OptimizerSteps : public testing::TestWithParam<DType> {
 protected:
  HostTensor number(double value) const { return tensor_of(GetParam(), {1}, {value}); }
  double tolerance() const { return GetParam() == DType::kFloat64 ? 1e-9 : 1e-6; }

  // One Adam step from zero moments: the parameter after it.
  double adam(double w, double g, double lr, double weight_decay = 0, bool decoupled = false) const {
    const Attributes attributes{{"beta1", 0.9},
                                {"beta2", 0.999},
                                {"epsilon", 1e-8},
                                {"weight_decay", weight_decay},
                                {"decoupled", int64_t{decoupled}},
                                {"count", int64_t{1}}};
    return run_op(kAdamStep,
                  {HostTensor::scalar(lr), HostTensor::scalar<int64_t>(1), std::nullopt, number(w), number(g),
                   number(0), number(0)},
                  attributes, 3)
        .front()
        ->to_double()[0];
  }
  void expect_relative(double found, double expected) const {
    EXPECT_NEAR(found, expected, std::fabs(expected) * tolerance());
  }
};

INSTANTIATE_TEST_SUITE_P(Types, OptimizerSteps, testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return dtype_name(info.param); });

TEST_P(OptimizerSteps, F2_AdamAddsEpsilonAfterTheBiasCorrectedRoot) {
  expect_relative(adam(0, 1, 1e-3), -1e-3 / (1 + 1e-8));
  expect_relative(adam(0, 1e-6, 1e-3), -1e-3 * 1e-6 / (1e-6 + 1e-8));
  expect_relative(adam(0, 1e-8, 1e-3), -5.0e-4);
}

TEST_P(OptimizerSteps, F3_DecayIsPartOfTheGradientOrDecoupled) {
  EXPECT_NEAR(adam(1, 0.5, 1e-3, 0.1), 0.9990000, 1e-7);
  EXPECT_NEAR(adam(1, 0.5, 1e-3, 0.1, true), 0.9989000, 1e-7);
}

// Three steps on one gradient, against the recurrences of torch/optim/sgd.py written out.
TEST_P(OptimizerSteps, MomentumAndNesterovFollowPyTorch) {
  for (const bool nesterov : {false, true}) {
    double p = 1, v = 0;
    HostTensor parameter = number(1), velocity = number(0);
    for (int step = 0; step < 3; ++step) {
      const double g = 0.5 + 0.01 * p;
      v = 0.9 * v + g;
      p -= 0.1 * (nesterov ? g + 0.9 * v : v);
      const auto next = run_op(
          kMomentumStep, {HostTensor::scalar(0.1), std::nullopt, parameter, number(0.5), velocity},
          {{"momentum", 0.9}, {"nesterov", int64_t{nesterov}}, {"weight_decay", 0.01}, {"count", int64_t{1}}}, 2);
      parameter = *next[0], velocity = *next[1];
      expect_relative(parameter.to_double()[0], p);
      expect_relative(velocity.to_double()[0], v);
    }
  }
}

TEST_P(OptimizerSteps, AdamFollowsPyTorchOverSeveralSteps) {
  double p = 1, m = 0, v = 0;
  HostTensor parameter = number(1), mean = number(0), square = number(0);
  const Attributes attributes{
      {"beta1", 0.8}, {"beta2", 0.99}, {"epsilon", 1e-6}, {"weight_decay", 0.02}, {"count", int64_t{1}}};
  for (int64_t t = 1; t <= 4; ++t) {
    const double raw = 0.3 / static_cast<double>(t), g = raw + 0.02 * p;
    m = 0.8 * m + 0.2 * g;
    v = 0.99 * v + 0.01 * g * g;
    p -= 0.05 / (1 - std::pow(0.8, t)) * m / (std::sqrt(v) / std::sqrt(1 - std::pow(0.99, t)) + 1e-6);
    const auto next =
        run_op(kAdamStep,
               {HostTensor::scalar(0.05), HostTensor::scalar(t), std::nullopt, parameter, number(raw), mean, square},
               attributes, 3);
    parameter = *next[0], mean = *next[1], square = *next[2];
    expect_relative(parameter.to_double()[0], p);
    expect_relative(square.to_double()[0], v);
  }
}

TEST_P(OptimizerSteps, SgdTakesDecayIntoTheGradient) {
  const auto next = run_op(kSgdStep, {HostTensor::scalar(0.5), std::nullopt, number(2), number(3)},
                           {{"weight_decay", 0.1}, {"count", int64_t{1}}});
  expect_relative(next[0]->to_double()[0], 2 - 0.5 * (3 + 0.2));
}

TEST_P(OptimizerSteps, ASkippedStepChangesNoBit) {
  const double nan = std::nan("");
  const auto next = run_op(kAdamStep,
                           {HostTensor::scalar(0.1), HostTensor::scalar<int64_t>(5), flag(false), number(1.25),
                            number(nan), number(-0.0), number(3)},
                           {{"weight_decay", 0.1}, {"decoupled", int64_t{1}}, {"count", int64_t{1}}}, 3);
  EXPECT_TRUE(same_bits(*next[0], number(1.25)));
  EXPECT_TRUE(same_bits(*next[1], number(-0.0)));
  EXPECT_TRUE(same_bits(*next[2], number(3)));
}

TEST(OptimizerDistribution, APartialGradientIsAnErrorNamingTheParameter) {
  Graph graph;
  Value& lr = graph.add_input("lr", {DType::kFloat64, Shape{}}, Role::kScalar);
  std::vector<Value*> inputs{&lr, nullptr};
  for (const char* name : {"conv.weight", "fc.weight", "conv.grad", "fc.grad"}) {
    inputs.push_back(&graph.add_data(name, HostTensor(DType::kFloat32, {3}), Role::kParameter));
  }
  for (Value* value : inputs) {
    if (value) value->distribution = Distribution::kReplicated;
  }
  Node& step = graph.add_node(kSgdStep, inputs, {"a", "b"}, {{"count", int64_t{2}}});
  infer_node(step, registry());
  EXPECT_NO_THROW(distribute_node(step, 2, registry()));
  graph.find_value("fc.grad")->distribution = Distribution::kPartial;
  expect_error(ErrorKind::kModel, "updates 'fc.weight' with a gradient that is partial",
               [&] { distribute_node(step, 2, registry()); });
  EXPECT_NO_THROW(distribute_node(step, 1, registry()));
}

// ---- norm, clipping, finiteness

TEST(GradientNorm, IsTakenOverAllTensorsTogether) {
  const HostTensor a = HostTensor::from<float>({2}, {3, 0}), b = HostTensor::from<float>({1, 1}, {4});
  EXPECT_DOUBLE_EQ(run_op({kOnwardDomain, "GlobalNorm"}, {a, b}).front()->to_double()[0], 5);
}

TEST(GradientNorm, HugeNumbersDoNotOverflow) {
  const HostTensor a = HostTensor::from<float>({2}, {3e30f, 4e30f});
  EXPECT_NEAR(run_op({kOnwardDomain, "GlobalNorm"}, {a}).front()->to_double()[0], 5e30, 1e24);
}

TEST(GradientNorm, A11_ClipsOnlyAboveTheLimit) {
  const HostTensor a = HostTensor::from<double>({2}, {0.6, 0.8});
  const auto clip = [&](double norm, double limit) {
    return run_op({kOnwardDomain, "ClipByNorm"}, {HostTensor::scalar(norm), a}, {{"limit", limit}})
        .front()
        ->to_double();
  };
  EXPECT_THAT(clip(0.8, 1), testing::ElementsAre(0.6, 0.8));
  EXPECT_NEAR(clip(4, 1)[0], 0.6 / (4 + 1e-6), 1e-12);
  EXPECT_TRUE(std::isnan(clip(std::nan(""), 1)[0]));
}

TEST(AllFinite, FindsOneBadNumberAnywhere) {
  const auto ask = [](const HostTensor& a, const HostTensor& b) {
    return run_op({kOnwardDomain, "AllFinite"}, {a, b}).front()->values<bool>()[0];
  };
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    for (const int64_t at : {0, 17, 40000}) {
      HostTensor a(DType::kFloat32, {40001}), b(DType::kFloat32, {3});
      EXPECT_TRUE(ask(a, b));
      a.edit_values<float>()[static_cast<std::size_t>(at)] = bad;
      EXPECT_FALSE(ask(a, b));
      EXPECT_FALSE(ask(b, a));
    }
  }
  EXPECT_TRUE(ask(HostTensor::from<float>({1}, {3.4e38f}), HostTensor::from<float>({1}, {-3.4e38f})));
}

}  // namespace
}  // namespace onward::test
