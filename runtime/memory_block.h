#pragma once
#include <cstddef>
#include <memory>

namespace onward {

// Uninitialised memory, aligned for plan buffers; large blocks ask for huge pages.
class MemoryBlock {
 public:
  std::byte* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  // Makes the block at least this large. Contents and address are lost when it grows. Returns whether it did.
  bool reserve(std::size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace onward
