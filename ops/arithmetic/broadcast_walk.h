#pragma once
#include <cstdint>
#include <vector>

#include "graph/types.h"

namespace onward {

// The walk of a broadcasting operation over its result, as few and as long runs as the shapes allow. Within a run the
// first operand advances by step_a (0 or 1) and the second by step_b. Made once per kernel; row-major operands.
class BroadcastWalk {
 public:
  struct Axis {
    int64_t size;
    int64_t step_a, step_b;  // elements that an operand advances by per step along the axis
  };

  BroadcastWalk(const Shape& a, const Shape& b, const Shape& out);

  int64_t count() const { return count_; }
  int64_t step_a() const { return runs_.step_a; }
  int64_t step_b() const { return runs_.step_b; }
  // The axes of the walk, neighbours merged, innermost first; the innermost is that of the runs.
  std::vector<Axis> axes() const;

  // Calls body(out_offset, a_offset, b_offset, length) for the runs that cover result elements [begin, end).
  template <typename Body>
  void visit(int64_t begin, int64_t end, Body&& body) const {
    while (begin < end) {
      const int64_t within = begin % runs_.size;
      const int64_t left = runs_.size - within;
      const int64_t length = left < end - begin ? left : end - begin;
      int64_t a = within * runs_.step_a, b = within * runs_.step_b;
      add_outer_offsets(begin / runs_.size, a, b);
      body(begin, a, b, length);
      begin += length;
    }
  }

 private:
  void add_outer_offsets(int64_t run, int64_t& a, int64_t& b) const;

  int64_t count_;
  Axis runs_{1, 0, 0};       // innermost
  std::vector<Axis> outer_;  // innermost first
};

}  // namespace onward
