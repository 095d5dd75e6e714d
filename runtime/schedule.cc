#include "runtime/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace onward {

double Schedule::rate(int64_t step) const {
  if (step < warmup_steps) return base * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  const double span = static_cast<double>(std::max<int64_t>(1, total_steps - warmup_steps));
  const double t = std::min(1.0, static_cast<double>(step - warmup_steps) / span);
  switch (kind) {
    case ScheduleKind::kConstant: return base;
    case ScheduleKind::kStep: return base * std::pow(step_factor, static_cast<double>(step / step_interval));
    case ScheduleKind::kCosine: return minimum + (base - minimum) * (1 + std::cos(std::numbers::pi * t)) / 2;
    case ScheduleKind::kLinear: return base + (minimum - base) * t;
  }
  return base;
}

double learning_rate_factor(LearningRateScale scale, int64_t batch, int64_t base_batch) {
  if (base_batch == 0) return 1;
  const double ratio = static_cast<double>(batch) / static_cast<double>(base_batch);
  switch (scale) {
    case LearningRateScale::kNone: return 1;
    case LearningRateScale::kLinear: return ratio;
    case LearningRateScale::kSqrt: return std::sqrt(ratio);
  }
  return 1;
}

}  // namespace onward
