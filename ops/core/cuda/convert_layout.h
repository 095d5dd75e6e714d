#pragma once
#include <cstddef>

#include "graph/layout.h"
#include "graph/types.h"

namespace onward {

// convert_layout (ops/core/layout.h) for buffers on the device, on a stream (a cudaStream_t): copies a tensor of
// logical shape (N, C, spatial...) from one layout to another. Elements of 1, 2, 4 or 8 bytes. Source and target do not
// overlap. Error(kModel) for another element size.
void convert_layout_on_device(const void* source, Layout from, void* target, Layout to, const Shape& shape,
                              std::size_t element_size, void* stream);

}  // namespace onward
