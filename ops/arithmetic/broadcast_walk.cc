#include "ops/arithmetic/broadcast_walk.h"

#include <algorithm>

namespace onward {
namespace {

// Row-major steps of an operand along the result's axes, last axis first; 0 where the operand is broadcast.
std::vector<int64_t> steps(const Shape& shape, const Shape& out) {
  std::vector<int64_t> result;
  int64_t step = 1;
  for (std::size_t back = 1; back <= out.size(); ++back) {
    const int64_t size = back <= shape.size() ? shape[shape.size() - back] : 1;
    result.push_back(size == 1 ? 0 : step);
    step *= size;
  }
  return result;
}

}  // namespace

BroadcastWalk::BroadcastWalk(const Shape& a, const Shape& b, const Shape& out) : count_(element_count(out)) {
  const std::vector<int64_t> steps_a = steps(a, out), steps_b = steps(b, out);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int64_t size = out[out.size() - 1 - i];
    if (size == 1) continue;
    // An axis that continues the one inside it, for both operands, makes that one longer.
    if (!axes.empty() && steps_a[i] == axes.back().step_a * axes.back().size &&
        steps_b[i] == axes.back().step_b * axes.back().size) {
      axes.back().size *= size;
    } else {
      axes.push_back({size, steps_a[i], steps_b[i]});
    }
  }
  if (axes.empty()) return;
  runs_ = axes.front();
  outer_.assign(axes.begin() + 1, axes.end());
}

std::vector<BroadcastWalk::Axis> BroadcastWalk::axes() const {
  std::vector<Axis> axes{runs_};
  axes.insert(axes.end(), outer_.begin(), outer_.end());
  return axes;
}

void BroadcastWalk::add_outer_offsets(int64_t run, int64_t& a, int64_t& b) const {
  for (const Axis& axis : outer_) {
    const int64_t index = run % axis.size;
    a += index * axis.step_a;
    b += index * axis.step_b;
    run /= axis.size;
  }
}

}  // namespace onward
