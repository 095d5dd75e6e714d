#include "runtime/plan_updates.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/plan_schedule.h"

namespace onward {

namespace {

class Updater {
 public:
  explicit Updater(PlanDraft& draft) : draft_(draft), schedule_(schedule(draft)) {}

  void run() {
    for (DraftUpdate& update : draft_.updates) update.in_place = write_in_place(update);
    for (const DraftUpdate& update : draft_.updates) add_update(update);
  }

 private:
  int content(int buffer) const { return buffer < 0 ? -1 : draft_.buffer(buffer).content; }

  // The step that makes the content; -1 if none does.
  int producer(int wanted) const {
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      for (int output : draft_.steps[i].step.outputs) {
        if (content(output) == wanted) return static_cast<int>(i);
      }
    }
    return -1;
  }

  bool reads_state(const PlanStep& step, int stored) const {
    return std::any_of(step.inputs.begin(), step.inputs.end(), [&](int input) {
      return input >= 0 && draft_.buffer(input).memory == Memory::kStore && draft_.buffer(input).place == stored;
    });
  }

  // All steps but the producer that read the state.
  std::vector<int> readers(int stored, int except) const {
    std::vector<int> list;
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      if (static_cast<int>(i) != except && reads_state(draft_.steps[i].step, stored))
        list.push_back(static_cast<int>(i));
    }
    return list;
  }

  bool is_pair(const DraftStep& draft, const InPlacePair& pair, const DraftUpdate& update) const {
    const auto in = static_cast<std::size_t>(pair.input), out = static_cast<std::size_t>(pair.output);
    if (in >= draft.step.inputs.size() || out >= draft.step.outputs.size() || draft.step.inputs[in] < 0) return false;
    const PlanBuffer& old_value = draft_.buffer(draft.step.inputs[in]);
    return content(draft.step.outputs[out]) == draft_.buffer(update.source).content &&
           old_value.memory == Memory::kStore && old_value.place == update.stored &&
           old_value.layout == Layout::kRowMajor;
  }

  bool write_in_place(const DraftUpdate& update) {
    const PlanBuffer source = draft_.buffer(update.source);
    const int step = producer(source.content);
    if (step < 0 || source.memory != Memory::kArena) return false;
    const DraftStep& draft = draft_.steps[static_cast<std::size_t>(step)];
    const auto reads = [&](int input) {
      return input >= 0 && draft_.buffer(input).memory == Memory::kStore && draft_.buffer(input).place == update.stored;
    };
    if (std::none_of(draft.in_place.begin(), draft.in_place.end(),
                     [&](const InPlacePair& pair) { return is_pair(draft, pair, update); }) ||
        std::count_if(draft.step.inputs.begin(), draft.step.inputs.end(), reads) != 1) {
      return false;
    }
    for (int reader : readers(update.stored, step)) {
      if (!schedule_.before(draft_, reader, step)) return false;
    }
    for (PlanBuffer& buffer : draft_.plan.buffers) {
      if (buffer.memory != Memory::kArena || buffer.storage != source.storage) continue;
      buffer.memory = Memory::kStore;
      buffer.place = update.stored;
      buffer.storage = -1;
    }
    return true;
  }

  void add_update(const DraftUpdate& update) {
    const PlanBuffer source = draft_.buffer(update.source);
    if (update.in_place) {
      draft_.plan.updates.push_back({update.stored, source.content, true});
      return;
    }
    const std::string& name = draft_.plan.stored[static_cast<std::size_t>(update.stored)];
    const int target = draft_.add_buffer({.value = name,
                                          .dtype = source.dtype,
                                          .shape = source.shape,
                                          .memory = Memory::kStore,
                                          .place = update.stored,
                                          .content = draft_.contents++});
    DraftStep draft;
    draft.step = {.kind = StepKind::kCopy,
                  .node = fmt::format("update of {}", name),
                  .inputs = {update.source},
                  .outputs = {target}};
    draft.after = readers(update.stored, -1);
    draft_.steps.push_back(std::move(draft));
    draft_.plan.updates.push_back({update.stored, draft_.buffer(target).content, false});
  }

  PlanDraft& draft_;
  Schedule schedule_;
};

}  // namespace

void plan_updates(PlanDraft& draft) { Updater(draft).run(); }

}  // namespace onward
