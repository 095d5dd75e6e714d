// The hooks that -fsanitize=thread calls before every memory access. Because the emulator runs threads one after
// another and counts their barriers, an access is compared with the earlier ones exactly, whatever the order of the
// run.
#include "tests/cuda/emulator/races.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <unordered_map>

#include "tests/cuda/emulator/emulator.h"

namespace onward::emulator {
namespace {

constexpr uint32_t kWarp = 32;

struct Access {
  bool made = false;
  Position by;

  uint32_t warp() const { return by.thread / kWarp; }
  bool same_warp(const Position& p) const { return by.block == p.block && warp() == p.thread / kWarp; }
  bool same_thread(const Position& p) const { return by.block == p.block && by.thread == p.thread; }

  // Whether nothing orders this earlier access before one at `p`.
  bool races_with(const Position& p) const {
    if (!made || same_thread(p)) return false;
    if (by.block != p.block) return true;
    if (by.block_barriers != p.block_barriers) return false;
    return !same_warp(p) || by.warp_barriers == p.warp_barriers;
  }
};

// The latest reads by two threads of one warp: one of them is not the thread that is compared.
struct WarpReads {
  Access latest, other;

  void add(const Position& p) {
    if (latest.made && !latest.same_thread(p)) other = latest;
    latest = {true, p};
  }
  const Access* race(const Position& p) const {
    return latest.races_with(p) ? &latest : other.races_with(p) ? &other : nullptr;
  }
};

// Of one byte. The two warps that read it last suffice, because one of them is not the writer's.
struct History {
  Access write;
  WarpReads reads, older_reads;

  void add_read(const Position& p) {
    if (reads.latest.made && !reads.latest.same_warp(p)) {
      WarpReads fresh = older_reads.latest.made && older_reads.latest.same_warp(p) ? older_reads : WarpReads{};
      older_reads = reads;
      reads = fresh;
    }
    reads.add(p);
  }
  const Access* race(const Position& p, bool writes) const {
    if (write.races_with(p)) return &write;
    if (!writes) return nullptr;
    const Access* found = reads.race(p);
    return found ? found : older_reads.race(p);
  }
};

using Memory = std::unordered_map<uintptr_t, History>;

struct Detector {
  Memory global, shared;
  uint64_t launch = 0, block = 0, reported = 0;
  std::vector<std::string> races;
};

Detector& detector() {
  static Detector& instance = *new Detector;
  return instance;
}

void forget_what_is_ordered(Detector& d, const Position& p) {
  if (p.launch != d.launch) d.global.clear();
  if (p.launch != d.launch || p.block != d.block) d.shared.clear();
  d.launch = p.launch;
  d.block = p.block;
}

void report(Detector& d, const Position& p, bool writes, const Access& earlier, bool shared) {
  if (d.reported == p.launch) return;
  d.reported = p.launch;
  char text[200];
  std::snprintf(text, sizeof text, "thread %u of block %llu %s %s memory that thread %u of block %llu used unordered",
                p.thread, static_cast<unsigned long long>(p.block), writes ? "writes" : "reads",
                shared ? "shared" : "global", earlier.by.thread, static_cast<unsigned long long>(earlier.by.block));
  d.races.push_back(text);
}

void on_access(const void* address, std::size_t bytes, bool writes) {
  const Position p = position();
  if (!p.in_kernel || is_private(address)) return;
  Detector& d = detector();
  forget_what_is_ordered(d, p);
  const bool shared = is_shared(address);
  Memory& memory = shared ? d.shared : d.global;
  const auto first = reinterpret_cast<uintptr_t>(address);
  for (uintptr_t at = first; at < first + bytes; ++at) {
    History& history = memory[at];
    if (const Access* earlier = history.race(p, writes)) report(d, p, writes, *earlier, shared);
    if (writes) {
      history.write = {true, p};
    } else {
      history.add_read(p);
    }
  }
}

}  // namespace

std::vector<std::string> take_races() {
  std::vector<std::string> races;
  races.swap(detector().races);
  return races;
}

}  // namespace onward::emulator

extern "C" {

using onward::emulator::on_access;

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* address, unsigned long bytes) { on_access(address, bytes, false); }
void __tsan_write_range(void* address, unsigned long bytes) { on_access(address, bytes, true); }

// Only host code uses atomics: reference counts of the standard library.
int __tsan_atomic32_fetch_add(volatile int* at, int value, int) {
  return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}

#define ONWARD_TSAN_HOOKS(bytes)                                                         \
  void __tsan_read##bytes(void* address) { on_access(address, bytes, false); }           \
  void __tsan_write##bytes(void* address) { on_access(address, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* address) { on_access(address, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* address) { on_access(address, bytes, true); } \
  void __tsan_volatile_read##bytes(void* address) { on_access(address, bytes, false); }  \
  void __tsan_volatile_write##bytes(void* address) { on_access(address, bytes, true); }
ONWARD_TSAN_HOOKS(1)
ONWARD_TSAN_HOOKS(2)
ONWARD_TSAN_HOOKS(4)
ONWARD_TSAN_HOOKS(8)
ONWARD_TSAN_HOOKS(16)
}
