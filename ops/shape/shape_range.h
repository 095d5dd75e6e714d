#pragma once
#include "graph/attributes.h"
#include "graph/types.h"

namespace onward {

// The dimensions that a Shape node with the attributes `start` and `end` asks for.
Shape shape_range(const Shape& shape, const Attributes& attributes);

}  // namespace onward
