#include "runtime/plan_memory.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <numeric>

namespace onward {

namespace {

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Storages that are to be one, or to lie in one block: a forest of links to representatives.
class Sharing {
 public:
  explicit Sharing(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int find(int i) const {
    while (parent_[static_cast<std::size_t>(i)] != i) i = parent_[static_cast<std::size_t>(i)];
    return i;
  }
  void join(int i, int into) { parent_[static_cast<std::size_t>(find(i))] = find(into); }

 private:
  std::vector<int> parent_;
};

class InPlace {
 public:
  InPlace(PlanDraft& draft, const Schedule& schedule)
      : draft_(draft),
        schedule_(schedule),
        sharing_(static_cast<std::size_t>(draft.storages)),
        readers_(static_cast<std::size_t>(draft.contents)),
        pinned_(static_cast<std::size_t>(draft.contents)) {}

  void run() {
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      for (int input : draft_.steps[i].step.inputs) {
        if (input >= 0) readers_[content(input)].push_back(static_cast<int>(i));
      }
    }
    for (const PlanOutput& output : draft_.plan.outputs) pinned_[content(output.buffer)] = true;
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) share(static_cast<int>(i));
    for (PlanBuffer& buffer : draft_.plan.buffers) {
      if (buffer.memory == Memory::kArena) buffer.storage = sharing_.find(buffer.storage);
    }
  }

 private:
  std::size_t content(int buffer) const { return static_cast<std::size_t>(draft_.buffer(buffer).content); }

  void share(int step) {
    const DraftStep& draft = draft_.steps[static_cast<std::size_t>(step)];
    std::vector<bool> shared(draft.step.outputs.size());
    for (const InPlacePair& pair : draft.in_place) {
      const auto in = static_cast<std::size_t>(pair.input), out = static_cast<std::size_t>(pair.output);
      if (in >= draft.step.inputs.size() || out >= draft.step.outputs.size() || shared[out]) continue;
      const int input = draft.step.inputs[in], output = draft.step.outputs[out];
      if (input < 0 || output < 0 || !may_share(step, in, output)) continue;
      sharing_.join(draft_.buffer(output).storage, draft_.buffer(input).storage);
      shared[out] = true;
    }
  }

  bool may_share(int step, std::size_t in, int output) const {
    const std::vector<int>& inputs = draft_.steps[static_cast<std::size_t>(step)].step.inputs;
    const PlanBuffer &from = draft_.buffer(inputs[in]), &to = draft_.buffer(output);
    if (from.memory != Memory::kArena || to.memory != Memory::kArena || from.bytes != to.bytes ||
        from.layout != to.layout || pinned_[content(inputs[in])]) {
      return false;
    }
    const int storage = sharing_.find(from.storage);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i == in || inputs[i] < 0 || draft_.buffer(inputs[i]).memory != Memory::kArena) continue;
      if (sharing_.find(draft_.buffer(inputs[i]).storage) == storage) return false;
    }
    // An earlier pair of this step may have taken the storage.
    for (int other : draft_.steps[static_cast<std::size_t>(step)].step.outputs) {
      if (other >= 0 && draft_.buffer(other).memory == Memory::kArena &&
          sharing_.find(draft_.buffer(other).storage) == storage) {
        return false;
      }
    }
    const std::vector<int>& readers = readers_[content(inputs[in])];
    return std::all_of(readers.begin(), readers.end(),
                       [&](int reader) { return reader == step || schedule_.before(draft_, reader, step); });
  }

  PlanDraft& draft_;
  const Schedule& schedule_;
  Sharing sharing_;
  std::vector<std::vector<int>> readers_;  // per content
  std::vector<bool> pinned_;               // per content: read after the last step
};

// Memory that is placed as a whole: one storage, or the operands of a collective.
struct Block {
  std::size_t bytes = 0;
  std::size_t offset = 0;
  bool used = false;
  // Per stream: the last step that uses the block, and what is certainly done before any use.
  Clock last{};
  Clock start;
  // In the order of steps, for the measure of live bytes.
  int first_step = INT_MAX;
  int last_step = -1;

  Block() { start.fill(INT_MAX); }
  // Whether all uses of this block are over before those of the other begin.
  bool over_before(const Block& other) const {
    for (std::size_t s = 0; s < kStreams; ++s) {
      if (last[s] > other.start[s]) return false;
    }
    return true;
  }
};

class Packer {
 public:
  Packer(PlanDraft& draft, const Schedule& schedule)
      : draft_(draft),
        schedule_(schedule),
        block_of_(static_cast<std::size_t>(draft.storages)),
        inside_(static_cast<std::size_t>(draft.storages)),
        blocks_(static_cast<std::size_t>(draft.storages)) {}

  void run() {
    std::iota(block_of_.begin(), block_of_.end(), 0);
    measure();
    for (const DraftStep& draft : draft_.steps) {
      if (draft.step.collective >= 0) gather_operands(draft.step);
    }
    note_uses();
    place_all();
    for (PlanBuffer& buffer : draft_.plan.buffers) {
      if (buffer.memory != Memory::kArena) continue;
      const auto storage = static_cast<std::size_t>(buffer.storage);
      buffer.offset = blocks_[static_cast<std::size_t>(block_of_[storage])].offset + inside_[storage];
    }
    draft_.plan.live_bytes = most_live();
  }

 private:
  void measure() {
    for (const PlanBuffer& buffer : draft_.plan.buffers) {
      if (buffer.memory != Memory::kArena) continue;
      Block& block = blocks_[static_cast<std::size_t>(buffer.storage)];
      block.bytes = std::max({block.bytes, aligned(buffer.bytes), kAlignment});
      block.used = true;
    }
  }

  // Lays the operands of a collective into one block, if each has storage of its own that no other collective has
  // gathered.
  void gather_operands(const PlanStep& step) {
    std::vector<int> storages;
    for (int input : step.inputs) {
      if (input < 0) continue;
      const PlanBuffer& buffer = draft_.buffer(input);
      const int storage = buffer.storage;
      if (buffer.memory != Memory::kArena || buffer.dtype != draft_.buffer(step.inputs[0]).dtype ||
          std::find(storages.begin(), storages.end(), storage) != storages.end() ||
          block_of_[static_cast<std::size_t>(storage)] != storage || gathered(storage)) {
        return;
      }
      storages.push_back(storage);
    }
    if (storages.size() < 2) return;
    Block& block = blocks_[static_cast<std::size_t>(storages[0])];
    for (std::size_t i = 1; i < storages.size(); ++i) {
      const auto storage = static_cast<std::size_t>(storages[i]);
      block_of_[storage] = storages[0];
      inside_[storage] = block.bytes;
      block.bytes += blocks_[storage].bytes;
      blocks_[storage].used = false;
    }
  }

  bool gathered(int storage) const { return std::count(block_of_.begin(), block_of_.end(), storage) > 1; }

  Block& block(int buffer) {
    return blocks_[static_cast<std::size_t>(block_of_[static_cast<std::size_t>(draft_.buffer(buffer).storage)])];
  }

  void note_uses() {
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      const PlanStep& step = draft_.steps[i].step;
      for (const auto* list : {&step.inputs, &step.outputs}) {
        for (int buffer : *list) {
          if (buffer >= 0 && draft_.buffer(buffer).memory == Memory::kArena) note_use(block(buffer), i, step.stream);
        }
      }
    }
    for (const PlanOutput& output : draft_.plan.outputs) {
      if (draft_.buffer(output.buffer).memory != Memory::kArena) continue;
      block(output.buffer).last.fill(INT_MAX);
      block(output.buffer).last_step = INT_MAX;
    }
  }

  void note_use(Block& block, std::size_t step, int stream) {
    int& last = block.last[static_cast<std::size_t>(stream)];
    last = std::max(last, schedule_.position[step]);
    for (std::size_t s = 0; s < kStreams; ++s) block.start[s] = std::min(block.start[s], schedule_.start[step][s]);
    block.first_step = std::min(block.first_step, static_cast<int>(step));
    block.last_step = std::max(block.last_step, static_cast<int>(step));
  }

  // The largest first, each into the smallest gap that fits between blocks alive at the same time.
  void place_all() {
    std::vector<Block*> order;
    for (Block& block : blocks_) {
      if (block.used) order.push_back(&block);
    }
    std::stable_sort(order.begin(), order.end(), [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
    std::vector<const Block*> placed;  // ascending offset
    for (Block* block : order) {
      block->offset = find_offset(*block, placed);
      draft_.plan.arena_bytes = std::max(draft_.plan.arena_bytes, block->offset + block->bytes);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), block,
                                     [](const Block* a, const Block* b) { return a->offset < b->offset; }),
                    block);
    }
  }

  static std::size_t find_offset(const Block& block, const std::vector<const Block*>& placed) {
    std::size_t end = 0, best = 0, best_gap = SIZE_MAX;
    for (const Block* other : placed) {
      if (block.over_before(*other) || other->over_before(block)) continue;
      if (other->offset > end && other->offset - end >= block.bytes && other->offset - end < best_gap) {
        best = end;
        best_gap = other->offset - end;
      }
      end = std::max(end, other->offset + other->bytes);
    }
    return best_gap == SIZE_MAX ? end : best;
  }

  std::size_t most_live() const {
    std::vector<int64_t> change(draft_.steps.size() + 1);
    for (const Block& block : blocks_) {
      if (!block.used || block.first_step == INT_MAX) continue;
      change[static_cast<std::size_t>(block.first_step)] += static_cast<int64_t>(block.bytes);
      if (block.last_step != INT_MAX)
        change[static_cast<std::size_t>(block.last_step) + 1] -= static_cast<int64_t>(block.bytes);
    }
    int64_t live = 0, most = 0;
    for (int64_t c : change) most = std::max(most, live += c);
    return static_cast<std::size_t>(most);
  }

  PlanDraft& draft_;
  const Schedule& schedule_;
  std::vector<int> block_of_;        // per storage
  std::vector<std::size_t> inside_;  // per storage: offset in its block
  std::vector<Block> blocks_;        // by the first storage in it
};

}  // namespace

void assign_memory(PlanDraft& draft, const Schedule& schedule) {
  InPlace(draft, schedule).run();
  Packer(draft, schedule).run();
}

}  // namespace onward
