#include "runtime/memory_block.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "runtime/plan.h"

namespace onward {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

void MemoryBlock::Free::operator()(std::byte* memory) const { std::free(memory); }

bool MemoryBlock::reserve(std::size_t bytes) {
  if (memory_ && bytes <= bytes_) return false;
  const std::size_t unit = bytes >= kHugePage ? kHugePage : kAlignment;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit + (bytes == 0 ? unit : 0);
  memory_.reset();
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(unit, rounded));
  if (!memory) throw std::bad_alloc();
  memory_.reset(memory);
  bytes_ = rounded;
  if (unit == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);  // a wish: its failure changes nothing
  return true;
}

}  // namespace onward
