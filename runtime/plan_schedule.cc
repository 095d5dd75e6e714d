#include "runtime/plan_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <set>

#include "graph/error.h"

namespace onward {

namespace {

// For each step, the steps it needs: producers of its inputs and those in `after`, ascending, once each.
std::vector<std::vector<int>> dependencies(const PlanDraft& draft) {
  std::vector<int> producer(static_cast<std::size_t>(draft.contents), -1);
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    for (int output : draft.steps[i].step.outputs) {
      if (output >= 0) producer[static_cast<std::size_t>(draft.buffer(output).content)] = static_cast<int>(i);
    }
  }
  std::vector<std::vector<int>> needs(draft.steps.size());
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    std::set<int> set(draft.steps[i].after.begin(), draft.steps[i].after.end());
    for (int input : draft.steps[i].step.inputs) {
      const int step = input < 0 ? -1 : producer[static_cast<std::size_t>(draft.buffer(input).content)];
      if (step >= 0) set.insert(step);
    }
    needs[i].assign(set.begin(), set.end());
  }
  return needs;
}

// Emits the steps one by one. Collectives go out as soon as they can, in ascending order of ids. Among the steps that
// are ready, those that the next collective needs come first. Where all of these need the result of a collective that
// is still on its way, what does not need it is done in the meantime (the weight gradients of a layer while the
// statistics of the layer before are being summed); only then the result is waited for. Otherwise the graph's order is
// kept.
class Orderer {
 public:
  explicit Orderer(PlanDraft& draft)
      : draft_(draft),
        needs_(dependencies(draft)),
        followers_(needs_.size()),
        missing_(needs_.size()),
        serves_(needs_.size(), kNone),
        awaits_(needs_.size(), -1) {}

  void run() {
    find_collectives();
    for (std::size_t i = 0; i < needs_.size(); ++i) {
      missing_[i] = needs_[i].size();
      for (int need : needs_[i]) followers_[static_cast<std::size_t>(need)].push_back(i);
    }
    find_served();
    for (std::size_t i = 0; i < needs_.size(); ++i) {
      if (needs_[i].empty()) ready_.insert(i);
    }
    while (!ready_.empty()) emit(pick());
    for (std::size_t i = 0; i < needs_.size(); ++i) {
      if (missing_[i] == 0) continue;
      throw Error(ErrorKind::kModel, fmt::format("the ids of collectives contradict the data flow at {}: it needs a "
                                                 "collective with a higher id",
                                                 step(i).node));
    }
    draft_.steps = std::move(ordered_);
  }

 private:
  static constexpr int kNone = INT_MAX;

  const PlanStep& step(std::size_t i) const { return draft_.steps[i].step; }

  // Each collective needs the one before it; each other step awaits the collectives whose results it reads.
  void find_collectives() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < needs_.size(); ++i) {
      if (step(i).collective >= 0) order.push_back(i);
      for (int need : needs_[i]) awaits_[i] = std::max(awaits_[i], step(static_cast<std::size_t>(need)).collective);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return step(a).collective < step(b).collective; });
    for (std::size_t k = 0; k < order.size(); ++k) {
      ids_.push_back(step(order[k]).collective);
      if (k == 0) continue;
      if (ids_[k - 1] == ids_[k]) {
        throw Error(ErrorKind::kModel, fmt::format("{} and {} have the same collective id {}", step(order[k - 1]).node,
                                                   step(order[k]).node, ids_[k]));
      }
      needs_[order[k]].push_back(static_cast<int>(order[k - 1]));
    }
  }

  // The graph's order is topological: followers come later.
  void find_served() {
    for (std::size_t i = needs_.size(); i-- > 0;) {
      for (std::size_t follower : followers_[i]) {
        const int id = step(follower).collective;
        serves_[i] = std::min(serves_[i], id >= 0 ? id : serves_[follower]);
      }
    }
  }

  std::size_t pick() const {
    constexpr auto kNobody = static_cast<std::size_t>(-1);
    std::size_t meanwhile = kNobody, waiting = kNobody;
    const int next = issued_ < ids_.size() ? ids_[issued_] : kNone;
    for (std::size_t i : ready_) {
      if (step(i).collective >= 0) return i;
      const bool must_wait = awaits_[i] > arrived_;
      if (serves_[i] == next && !must_wait) return i;
      if (!must_wait && meanwhile == kNobody) meanwhile = i;
      if (must_wait && (waiting == kNobody || (serves_[i] == next && serves_[waiting] != next))) waiting = i;
    }
    return meanwhile != kNobody ? meanwhile : waiting;
  }

  void emit(std::size_t i) {
    ready_.erase(i);
    if (step(i).collective >= 0) {
      ++issued_;
    } else {
      arrived_ = std::max(arrived_, awaits_[i]);  // and with it all collectives before, which run in order
    }
    ordered_.push_back(std::move(draft_.steps[i]));
    for (std::size_t follower : followers_[i]) {
      if (--missing_[follower] == 0) ready_.insert(follower);
    }
  }

  PlanDraft& draft_;
  std::vector<std::vector<int>> needs_;
  std::vector<std::vector<std::size_t>> followers_;
  std::vector<std::size_t> missing_;
  std::vector<int> serves_;  // the first collective that cannot start before the step is done
  std::vector<int> awaits_;  // the last collective whose result the step reads
  std::vector<int> ids_;     // of all collectives, ascending
  std::size_t issued_ = 0;
  int arrived_ = -1;
  std::set<std::size_t> ready_;
  std::vector<DraftStep> ordered_;
};

}  // namespace

void order_steps(PlanDraft& draft) { Orderer(draft).run(); }

Schedule schedule(PlanDraft& draft) {
  const std::vector<std::vector<int>> needs = dependencies(draft);
  Schedule schedule;
  std::vector<Clock> done;  // per step: what is certainly done when it is
  std::array<Clock, kStreams> now{};
  draft.plan.events = 0;
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    PlanStep& step = draft.steps[i].step;
    step.waits.clear();
    step.record = -1;
    const auto stream = static_cast<std::size_t>(step.stream);
    Clock& clock = now[stream];
    // Later steps imply earlier ones of their stream: they are looked at first.
    for (auto need = needs[i].rbegin(); need != needs[i].rend(); ++need) {
      const auto n = static_cast<std::size_t>(*need);
      PlanStep& needed = draft.steps[n].step;
      if (clock[static_cast<std::size_t>(needed.stream)] >= schedule.position[n]) continue;
      if (needed.record < 0) needed.record = draft.plan.events++;
      step.waits.push_back(needed.record);
      for (std::size_t s = 0; s < kStreams; ++s) clock[s] = std::max(clock[s], done[n][s]);
    }
    schedule.start.push_back(clock);
    schedule.position.push_back(++clock[stream]);
    done.push_back(clock);
  }
  return schedule;
}

}  // namespace onward
