#include "runtime/plan_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
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

// Each collective needs the one before it in ascending order of ids.
void chain_collectives(const PlanDraft& draft, std::vector<std::vector<int>>& needs) {
  std::vector<int> collectives;
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    if (draft.steps[i].step.collective >= 0) collectives.push_back(static_cast<int>(i));
  }
  const auto step = [&](int i) -> const PlanStep& { return draft.steps[static_cast<std::size_t>(i)].step; };
  std::stable_sort(collectives.begin(), collectives.end(),
                   [&](int a, int b) { return step(a).collective < step(b).collective; });
  for (std::size_t i = 1; i < collectives.size(); ++i) {
    const int before = collectives[i - 1], after = collectives[i];
    if (step(before).collective == step(after).collective) {
      throw Error(ErrorKind::kModel, fmt::format("{} and {} have the same collective id {}", step(before).node,
                                                 step(after).node, step(after).collective));
    }
    needs[static_cast<std::size_t>(after)].push_back(before);
  }
}

}  // namespace

void order_steps(PlanDraft& draft) {
  std::vector<std::vector<int>> needs = dependencies(draft);
  chain_collectives(draft, needs);
  std::vector<std::vector<std::size_t>> followers(needs.size());
  std::vector<std::size_t> missing(needs.size());
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    missing[i] = needs[i].size();
    for (int need : needs[i]) followers[static_cast<std::size_t>(need)].push_back(i);
    if (needs[i].empty()) ready.push(i);
  }
  std::vector<DraftStep> ordered;
  for (; !ready.empty(); ) {
    const std::size_t next = ready.top();
    ready.pop();
    ordered.push_back(std::move(draft.steps[next]));
    for (std::size_t follower : followers[next]) {
      if (--missing[follower] == 0) ready.push(follower);
    }
  }
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (missing[i] == 0) continue;
    throw Error(ErrorKind::kModel, fmt::format("the ids of collectives contradict the data flow at {}: it needs a "
                                               "collective with a higher id", draft.steps[i].step.node));
  }
  draft.steps = std::move(ordered);
}

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
