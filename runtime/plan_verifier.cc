// Vector clocks after Mattern (1989) and Fidge (1988): a step's clock says how many steps of each stream are certainly
// done. The memory is a map from byte ranges to who wrote and read them last and what they hold.
#include "runtime/plan_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "graph/error.h"

namespace onward {

namespace {

using Clock = std::array<int, kStreams>;

struct Access {
  int step = -1;
  int stream = 0;
  int position = 0;  // on its stream, from 1; 0: before the first step
};

// A range of bytes with one history.
struct Segment {
  std::size_t end = 0;
  Access writer;
  int content = -1;
  std::vector<Access> readers;  // since it was written, the last of each stream
};

// A separate range of addresses: the arena, or one input, constant or stored value.
using Space = std::map<std::size_t, Segment>;

class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan) {}

  std::vector<std::string> run() {
    check_buffers();
    set_initial_contents();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) run_step(static_cast<int>(i));
    check_end();
    return std::move(violations_);
  }

 private:
  const PlanStep& step(int i) const { return plan_.steps[static_cast<std::size_t>(i)]; }
  const PlanBuffer& buffer(int i) const { return plan_.buffers[static_cast<std::size_t>(i)]; }
  std::string name(int i) const { return i < 0 ? "the start" : fmt::format("step {} ({})", i, step(i).node); }
  void report(std::string text) { violations_.push_back(std::move(text)); }

  Space& space(const PlanBuffer& b) { return spaces_[{b.memory, b.memory == Memory::kArena ? 0 : b.place}]; }

  void check_buffers() {
    for (const PlanBuffer& b : plan_.buffers) {
      if (b.memory != Memory::kArena) continue;
      if (b.offset % kAlignment != 0) report(fmt::format("the buffer of {} is not aligned", b.value));
      if (b.offset + b.bytes > plan_.arena_bytes)
        report(fmt::format("the buffer of {} ends outside the arena", b.value));
    }
  }

  // Inputs, constants and stored values hold from the start what no step writes.
  void set_initial_contents() {
    std::set<int> written;
    for (const PlanStep& s : plan_.steps) {
      for (int output : s.outputs) {
        if (output >= 0) written.insert(buffer(output).content);
      }
    }
    for (const PlanBuffer& b : plan_.buffers) {
      if (b.memory == Memory::kArena || b.bytes == 0 || written.contains(b.content)) continue;
      over(b, [&](Segment& segment) { segment.content = b.content; });
    }
  }

  void run_step(int index) {
    const PlanStep& s = step(index);
    Clock& clock = now_[static_cast<std::size_t>(s.stream)];
    for (int event : s.waits) {
      const auto found = events_.find(event);
      if (found == events_.end()) {
        report(fmt::format("{} waits for event {}, which nothing records before", name(index), event));
        continue;
      }
      for (std::size_t i = 0; i < kStreams; ++i) clock[i] = std::max(clock[i], found->second[i]);
    }
    const Access me{index, s.stream, clock[static_cast<std::size_t>(s.stream)] + 1};
    for (int input : s.inputs) {
      if (input >= 0) read(buffer(input), me, clock);
    }
    for (int output : s.outputs) {
      if (output >= 0) write(buffer(output), me, clock);
    }
    clock[static_cast<std::size_t>(s.stream)] = me.position;
    if (s.record >= 0 && !events_.emplace(s.record, clock).second) {
      report(fmt::format("{} records event {} a second time", name(index), s.record));
    }
    check_collective(index);
  }

  static bool done(const Access& access, const Clock& clock) {
    return clock[static_cast<std::size_t>(access.stream)] >= access.position;
  }

  void read(const PlanBuffer& b, const Access& me, const Clock& clock) {
    over(b, [&](Segment& segment) {
      if (!done(segment.writer, clock)) {
        report(
            fmt::format("{} reads {} while {} may be writing it", name(me.step), b.value, name(segment.writer.step)));
      } else if (segment.content != b.content) {
        report(fmt::format("{} reads {}, but its memory holds what {} wrote", name(me.step), b.value,
                           name(segment.writer.step)));
      }
      const auto mine = std::find_if(segment.readers.begin(), segment.readers.end(),
                                     [&](const Access& reader) { return reader.stream == me.stream; });
      if (mine == segment.readers.end()) {
        segment.readers.push_back(me);
      } else {
        *mine = me;
      }
    });
  }

  void write(const PlanBuffer& b, const Access& me, const Clock& clock) {
    if (b.memory == Memory::kInput || b.memory == Memory::kConstant) {
      report(fmt::format("{} writes {}, an {}", name(me.step), b.value, memory_name(b.memory)));
    }
    over(b, [&](Segment& segment) {
      if (segment.writer.step == me.step && me.step >= 0) {
        report(fmt::format("{} writes {} over another output of its own", name(me.step), b.value));
      } else if (!done(segment.writer, clock)) {
        report(fmt::format("{} writes {} while {} may be writing there", name(me.step), b.value,
                           name(segment.writer.step)));
      }
      for (const Access& reader : segment.readers) {
        if (reader.step == me.step || done(reader, clock)) continue;
        report(fmt::format("{} writes {} while {} may be reading there", name(me.step), b.value, name(reader.step)));
      }
      segment.writer = me;
      segment.content = b.content;
      segment.readers.clear();
    });
  }

  void check_collective(int index) {
    const PlanStep& s = step(index);
    if (s.collective < 0) return;
    if (s.stream != kCommunicationStream)
      report(fmt::format("{} runs a collective on the compute stream", name(index)));
    if (s.collective <= last_collective_) {
      report(fmt::format("{} runs collective {} after collective {}", name(index), s.collective, last_collective_));
    }
    last_collective_ = s.collective;
  }

  void check_end() {
    for (const PlanOutput& output : plan_.outputs) {
      over(buffer(output.buffer), [&](Segment& segment) {
        if (segment.content == buffer(output.buffer).content) return;
        report(fmt::format("at the end the memory of output {} holds what {} wrote", output.name,
                           name(segment.writer.step)));
      });
    }
    for (const PlanUpdate& update : plan_.updates) {
      for (const auto& [begin, segment] : spaces_[{Memory::kStore, update.stored}]) {
        if (segment.content == update.content) continue;
        report(fmt::format("at the end {} does not hold its new value",
                           plan_.stored[static_cast<std::size_t>(update.stored)]));
      }
    }
  }

  // Cuts the segment around `at` in two, if there is one.
  static void split(Space& space, std::size_t at) {
    auto after = space.upper_bound(at);
    if (after == space.begin()) return;
    auto& [begin, segment] = *std::prev(after);
    if (begin == at || segment.end <= at) return;
    Segment right = segment;
    segment.end = at;
    space.emplace_hint(after, at, std::move(right));
  }

  // Calls visit for every segment of the buffer's range, making segments where there are none.
  template <typename Visit>
  void over(const PlanBuffer& b, Visit&& visit) {
    if (b.bytes == 0) return;
    Space& s = space(b);
    const std::size_t first = b.memory == Memory::kArena ? b.offset : 0, last = first + b.bytes;
    split(s, first);
    split(s, last);
    std::size_t at = first;
    for (auto it = s.lower_bound(first); at < last; ++it) {
      if (it == s.end() || it->first > at) {
        const std::size_t end = it == s.end() ? last : std::min(last, it->first);
        it = s.emplace_hint(it, at, Segment{.end = end});
      }
      visit(it->second);
      at = it->second.end;
    }
  }

  const Plan& plan_;
  std::map<std::pair<Memory, int>, Space> spaces_;
  std::array<Clock, kStreams> now_{};
  std::map<int, Clock> events_;
  int last_collective_ = -1;
  std::vector<std::string> violations_;
};

// What must agree between replicas about a collective.
std::string collective_text(const Plan& plan, const PlanStep& step) {
  std::string text = fmt::format("{} {}", step.collective, to_string(step.op));
  for (int input : step.inputs) {
    if (input < 0) continue;
    const PlanBuffer& b = plan.buffers[static_cast<std::size_t>(input)];
    text += fmt::format(" {}", TensorType(b.dtype, b.shape).text());
  }
  return text;
}

std::vector<std::string> collective_list(const Plan& plan) {
  std::vector<std::string> list;
  for (const PlanStep& step : plan.steps) {
    if (step.collective >= 0) list.push_back(collective_text(plan, step));
  }
  return list;
}

}  // namespace

std::vector<std::string> find_plan_violations(const Plan& plan) { return Verifier(plan).run(); }

void verify_plan(const Plan& plan) {
  const std::vector<std::string> violations = find_plan_violations(plan);
  if (violations.empty()) return;
  constexpr std::size_t kShown = 20;
  const std::vector<std::string> shown(violations.begin(),
                                       violations.begin() + static_cast<long>(std::min(kShown, violations.size())));
  throw Error(ErrorKind::kModel,
              fmt::format("the plan of {} is wrong in {} places; this is a fault of the planner:\n  {}", plan.name,
                          violations.size(), fmt::join(shown, "\n  ")));
}

void verify_collectives_agree(const std::vector<const Plan*>& plans) {
  for (std::size_t p = 1; p < plans.size(); ++p) {
    const std::vector<std::string> first = collective_list(*plans[0]), other = collective_list(*plans[p]);
    for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      const std::string a = i < first.size() ? first[i] : "none", b = i < other.size() ? other[i] : "none";
      if (a == b) continue;
      throw Error(ErrorKind::kModel,
                  fmt::format("replicas disagree about collective number {}: rank {} has {}, rank {} has {}", i,
                              plans[0]->rank, a, plans[p]->rank, b));
    }
  }
}

}  // namespace onward
