#pragma once
#include <cstddef>
#include <functional>
#include <memory>

namespace onward {

// Reuses host buffers: a buffer that nobody holds any more goes back to the pool. Buffers are 64-byte aligned and at
// least as large as asked; their content is whatever was there before. Safe to use from several threads; buffers may
// outlive the pool.
class BufferPool {
 public:
  using Buffer = std::shared_ptr<std::byte[]>;
  using Allocate = std::function<Buffer(std::size_t bytes)>;

  // `allocate` replaces the ordinary allocation, for memory that a device can read, say. It must keep the alignment.
  explicit BufferPool(Allocate allocate = {});

  Buffer take(std::size_t bytes);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace onward
