#pragma once
#include <cstdint>
#include <string>

namespace onward {

enum class ScheduleKind : uint8_t { kConstant, kStep, kCosine, kLinear };
enum class LearningRateScale : uint8_t { kNone, kLinear, kSqrt };

// The learning rate as a function of the optimizer step.
struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  double base = 1e-3;         // after scaling by batch size
  double minimum = 0;         // where cosine and linear end
  int64_t total_steps = 1;    // of the whole run
  int64_t warmup_steps = 0;   // the rate grows linearly to `base` over these first steps
  int64_t step_interval = 1;  // kStep: steps between two reductions
  double step_factor = 0.1;   // kStep: what each reduction multiplies by

  // Rate of an update; `step` counts from 0. Warm-up: base*(step+1)/warmup. Then, with t = step-warmup over
  // T = total-warmup steps: constant base; base*factor^floor(step/interval); min+(base-min)*(1+cos(pi*t/T))/2
  // (Loshchilov and Hutter 2017, without restarts); base+(min-base)*t/T.
  double rate(int64_t step) const;
};

// The factor that the batch size puts on the learning rate: 1, batch/base, or sqrt(batch/base) (the linear rule: Goyal
// et al. 2017; the root: Krizhevsky 2014). `base_batch` 0: no scaling.
double learning_rate_factor(LearningRateScale scale, int64_t batch, int64_t base_batch);

}  // namespace onward
