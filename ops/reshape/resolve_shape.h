#pragma once
#include <cstdint>
#include <vector>

#include "graph/types.h"

namespace onward {

// The shape that a Reshape asks for, with 0 (copied from the input unless `allow_zero`) and -1 (whatever is left).
struct ReshapeRequest {
  std::vector<int64_t> shape;
  bool allow_zero = false;
};

// How the rows of a batch relate to those of the file: see ops/reshape/reshape.cc.
struct BatchOfFile {
  bool dependent = false;  // the input of the Reshape is computed from a batch
  int64_t exported = 0;    // batch size that the file declares; 0: it declares none
  int64_t local = 0;       // batch size of the program
};

// The static shape. Error(kModel) when the elements do not fit.
Shape resolve_shape(const Shape& input, const ReshapeRequest& request, const BatchOfFile& batch = {});

}  // namespace onward
