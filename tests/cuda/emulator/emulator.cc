#include "tests/cuda/emulator/emulator.h"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "ops/core/cuda/launch.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace onward::emulator {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::size_t kMaxThreads = 1024;
constexpr std::size_t kSharedBytes = 48 * 1024;  // what a block has without asking for more
constexpr uint32_t kWarp = 32;
constexpr int kGarbage = 0xff;  // shared memory starts as NaN

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "CUDA emulator: %s, in block (%u, %u, %u), thread (%u, %u, %u)\n", what, blockIdx.x, blockIdx.y,
               blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
  std::abort();
}

struct Barrier {
  uint32_t arrived = 0;
  uint64_t passed = 0;
};

struct Fiber {
  ucontext_t context;
  uint3 index;
  bool done = false;
  uint64_t offered = 0;       // in a shuffle
  uint64_t offered_at = ~0u;  // the warp barrier before which it was offered
};

struct StaticArray {
  const void* declaration;
  void* memory;
};

// The one block that runs, and the memory that all of them use in turn.
struct Machine {
  std::vector<std::byte> stacks = std::vector<std::byte>(kMaxThreads * kStackBytes);
  alignas(16) std::byte shared[kSharedBytes];
  std::vector<Fiber> fibers;
  std::vector<Barrier> warps;
  std::vector<uint32_t> alive_in_warp;
  std::vector<StaticArray> arrays;
  Barrier block;
  ucontext_t scheduler;
  const std::function<void()>* body = nullptr;
  std::size_t shared_used = 0;
  uint32_t running = 0;  // the fiber
  uint32_t alive = 0;
  uint64_t launches = 0;
  uint64_t block_number = 0;
  bool in_kernel = false;
  bool progress = false;
};

Machine& machine() {
  static Machine& instance = *new Machine;  // never destroyed: fibers may be running when a test ends the process
  return instance;
}

void fiber_main() {
  Machine& m = machine();
  (*m.body)();
  m.fibers[m.running].done = true;
  m.progress = true;
  --m.alive;
  --m.alive_in_warp[m.running / kWarp];
  // uc_link goes back to the scheduler.
}

void start_fiber(uint32_t i) {
  Machine& m = machine();
  Fiber& fiber = m.fibers[i];
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = m.stacks.data() + i * kStackBytes;
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = &m.scheduler;
  makecontext(&fiber.context, fiber_main, 0);
}

void resume(uint32_t i) {
  Machine& m = machine();
  m.running = i;
  threadIdx = m.fibers[i].index;
  m.in_kernel = true;
  swapcontext(&m.scheduler, &m.fibers[i].context);
  m.in_kernel = false;
}

// Waits until all of `expected` threads, which shrinks as threads end, have come.
void wait(Barrier& barrier, const uint32_t& expected) {
  Machine& m = machine();
  const uint64_t own = barrier.passed;
  const uint32_t self = m.running;
  ++barrier.arrived;
  while (barrier.passed == own) {
    if (barrier.arrived >= expected) {
      barrier.arrived = 0;
      ++barrier.passed;
      m.progress = true;
    } else {
      swapcontext(&m.fibers[self].context, &m.scheduler);
    }
  }
}

void prepare_block(const LaunchShape& shape) {
  Machine& m = machine();
  const uint32_t threads = shape.block.x * shape.block.y * shape.block.z;
  std::memset(m.shared, kGarbage, sizeof m.shared);
  m.arrays.clear();
  m.shared_used = (shape.shared_bytes + 15) / 16 * 16;
  m.fibers.assign(threads, {});
  m.warps.assign(threads / kWarp, {});
  m.alive_in_warp.assign(threads / kWarp, kWarp);
  m.block = {};
  m.alive = threads;
  for (uint32_t i = 0; i < threads; ++i) {
    m.fibers[i].index = {i % shape.block.x, i / shape.block.x % shape.block.y, i / (shape.block.x * shape.block.y)};
    start_fiber(i);
  }
}

void run_block(const LaunchShape& shape) {
  Machine& m = machine();
  prepare_block(shape);
  while (m.alive > 0) {
    m.progress = false;
    for (uint32_t i = 0; i < m.fibers.size(); ++i) {
      if (!m.fibers[i].done) resume(i);
    }
    if (m.alive > 0 && !m.progress) fail("threads wait at different barriers");
  }
}

void check(const LaunchShape& shape) {
  const std::size_t threads = std::size_t{shape.block.x} * shape.block.y * shape.block.z;
  if (threads == 0 || threads > kMaxThreads) fail("a block has 1 to 1024 threads");
  if (threads % kWarp != 0) fail("a block is made of whole warps");
  if (shape.grid.y > 65535 || shape.grid.z > 65535 || shape.grid.x > 2147483647u) fail("the grid is too large");
  if (shape.shared_bytes > kSharedBytes) fail("a block has at most 48 KiB of shared memory");
  if (machine().in_kernel) fail("a kernel starts another");
}

}  // namespace

void run(const LaunchShape& shape, const std::function<void()>& body) {
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return;
  check(shape);
  Machine& m = machine();
  m.body = &body;
  ++m.launches;
  m.block_number = 0;
  blockDim = shape.block;
  gridDim = shape.grid;
  for (blockIdx.z = 0; blockIdx.z < shape.grid.z; ++blockIdx.z) {
    for (blockIdx.y = 0; blockIdx.y < shape.grid.y; ++blockIdx.y) {
      for (blockIdx.x = 0; blockIdx.x < shape.grid.x; ++blockIdx.x, ++m.block_number) run_block(shape);
    }
  }
}

void* dynamic_shared() { return machine().shared; }

void* static_shared(const void* declaration, std::size_t bytes) {
  Machine& m = machine();
  for (const StaticArray& array : m.arrays) {
    if (array.declaration == declaration) return array.memory;
  }
  if (m.shared_used + bytes > kSharedBytes) fail("a block has at most 48 KiB of shared memory");
  m.arrays.push_back({declaration, m.shared + m.shared_used});
  m.shared_used += (bytes + 15) / 16 * 16;
  return m.arrays.back().memory;
}

void block_barrier() {
  Machine& m = machine();
  wait(m.block, m.alive);
}

void warp_barrier() {
  Machine& m = machine();
  const uint32_t warp = m.running / kWarp;
  wait(m.warps[warp], m.alive_in_warp[warp]);
}

uint64_t exchange(uint64_t value, int source) {
  Machine& m = machine();
  const uint32_t self = m.running, warp = self / kWarp;
  const uint64_t round = m.warps[warp].passed;
  m.fibers[self].offered = value;
  m.fibers[self].offered_at = round;
  warp_barrier();
  const Fiber& other = m.fibers[warp * kWarp + static_cast<uint32_t>(source) % kWarp];
  if (other.offered_at != round) fail("a shuffle reads a lane that does not take part");
  const uint64_t result = other.offered;
  warp_barrier();
  return result;
}

int lane() { return static_cast<int>(machine().running % kWarp); }

Position position() {
  const Machine& m = machine();
  if (!m.in_kernel) return {};
  return {.in_kernel = true,
          .launch = m.launches,
          .block = m.block_number,
          .thread = m.running,
          .block_barriers = m.block.passed,
          .warp_barriers = m.warps[m.running / kWarp].passed};
}

bool is_private(const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  const std::vector<std::byte>& stacks = machine().stacks;
  return byte >= stacks.data() && byte < stacks.data() + stacks.size();
}

bool is_shared(const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  const Machine& m = machine();
  return byte >= m.shared && byte < m.shared + kSharedBytes;
}

}  // namespace onward::emulator
