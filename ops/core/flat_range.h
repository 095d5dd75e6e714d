#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace onward {

// Several tensors as one range of elements, end to end, so that a team can share them evenly however small they are.
class FlatRange {
 public:
  void append(int64_t count) { begins_.push_back(begins_.back() + count); }
  int64_t size() const { return begins_.back(); }

  // Calls body(tensor, offset, n) for the pieces of tensors that make up [begin, end).
  template <typename Body>
  void visit(int64_t begin, int64_t end, Body&& body) const {
    auto i = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), begin) - begins_.begin()) - 1;
    for (; begin < end; ++i) {
      const int64_t n = std::min(end, begins_[i + 1]) - begin;
      if (n > 0) body(i, begin - begins_[i], n);
      begin += n;
    }
  }

 private:
  std::vector<int64_t> begins_{0};
};

}  // namespace onward
