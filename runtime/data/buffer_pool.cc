#include "runtime/data/buffer_pool.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace onward {

namespace {

BufferPool::Buffer allocate_aligned(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, bytes));
  if (!memory) throw std::bad_alloc();
  return {memory, [](std::byte* p) { std::free(p); }};
}

}  // namespace

struct BufferPool::State {
  Allocate allocate;
  std::mutex mutex;
  std::map<std::size_t, std::vector<Buffer>> free;  // by size: a loader uses only a few
};

BufferPool::BufferPool(Allocate allocate) : state_(std::make_shared<State>()) {
  state_->allocate = allocate ? std::move(allocate) : allocate_aligned;
}

BufferPool::Buffer BufferPool::take(std::size_t bytes) {
  const std::size_t size = bytes == 0 ? 64 : (bytes + 63) / 64 * 64;
  Buffer buffer;
  {
    const std::lock_guard lock(state_->mutex);
    std::vector<Buffer>& free = state_->free[size];
    free.reserve(free.size() + 1);
    if (!free.empty()) {
      buffer = std::move(free.back());
      free.pop_back();
    }
  }
  if (!buffer) buffer = state_->allocate(size);
  std::byte* memory = buffer.get();
  return {memory, [state = state_, buffer = std::move(buffer), size](std::byte*) mutable {
            const std::lock_guard lock(state->mutex);
            state->free[size].push_back(std::move(buffer));
          }};
}

}  // namespace onward
