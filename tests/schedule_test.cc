#include "runtime/schedule.h"

namespace onward::test {
namespace {

TEST(Schedule, ConstantAfterWarmUp) {
  const Schedule schedule{.base = 0.4, .total_steps = 100, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.rate(3), 0.4);
  EXPECT_DOUBLE_EQ(schedule.rate(50), 0.4);
}

TEST(Schedule, CosineAndLinearEndAtTheMinimum) {
  Schedule schedule{.kind = ScheduleKind::kCosine, .base = 1, .minimum = 0.2, .total_steps = 10};
  EXPECT_DOUBLE_EQ(schedule.rate(0), 1);
  EXPECT_DOUBLE_EQ(schedule.rate(5), 0.6);
  EXPECT_DOUBLE_EQ(schedule.rate(10), 0.2);
  EXPECT_DOUBLE_EQ(schedule.rate(99), 0.2);
  schedule.kind = ScheduleKind::kLinear;
  EXPECT_DOUBLE_EQ(schedule.rate(5), 0.6);
  EXPECT_DOUBLE_EQ(schedule.rate(10), 0.2);
}

TEST(Schedule, StepMultipliesAtEveryInterval) {
  const Schedule schedule{
      .kind = ScheduleKind::kStep, .base = 1, .total_steps = 100, .step_interval = 30, .step_factor = 0.5};
  EXPECT_DOUBLE_EQ(schedule.rate(29), 1);
  EXPECT_DOUBLE_EQ(schedule.rate(30), 0.5);
  EXPECT_DOUBLE_EQ(schedule.rate(60), 0.25);
}

TEST(Schedule, BatchSizeScalesTheRate) {
  EXPECT_DOUBLE_EQ(learning_rate_factor(LearningRateScale::kLinear, 1024, 256), 4);
  EXPECT_DOUBLE_EQ(learning_rate_factor(LearningRateScale::kSqrt, 1024, 256), 2);
  EXPECT_DOUBLE_EQ(learning_rate_factor(LearningRateScale::kNone, 1024, 256), 1);
  EXPECT_DOUBLE_EQ(learning_rate_factor(LearningRateScale::kLinear, 1024, 0), 1);
}

}  // namespace
}  // namespace onward::test
