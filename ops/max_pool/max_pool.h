#pragma once
#include "graph/graph.h"

namespace onward {

inline const OpId kMaxPool{"", "MaxPool"};
inline const OpId kMaxPoolGrad{kOnwardDomain, "MaxPoolGrad"};

// The type of MaxPool's output `window`: the row-major position of the maximum in the window. The number of positions
// itself stands for a window without any input (all padding), hence one value more than there are positions.
inline DType window_dtype(int64_t positions) { return positions <= 255 ? DType::kUInt8 : DType::kInt32; }

}  // namespace onward
