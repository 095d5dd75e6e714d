#pragma once
#include <string>

#include "graph/layout.h"
#include "graph/types.h"
#include "ops/core/kernel.h"

namespace onward {

// "row-major", "channels-last".
std::string layout_name(Layout layout);

// Whether a tensor of this shape has the same bytes in both layouts: rank below 3, one channel, one position or no
// element.
bool layouts_agree(const Shape& shape, Layout a, Layout b);

// Copies a tensor of logical shape (N, C, spatial...) from one layout to another, on the calling thread's team.
// Elements of 1, 2, 4 or 8 bytes. Source and target do not overlap.
void convert_layout(const void* source, Layout from, void* target, Layout to, const Shape& shape,
                    std::size_t element_size);

// All that a kernel of this node is prepared from, but for the layouts, which are row-major. Types must be static.
KernelSpec kernel_spec(const Node& node, int threads = 1, int rank = 0, int replicas = 1);

// Whether the kernel's kSame operands may be channels-last: there are some, and all of them have one shape of rank 3 or
// more.
bool takes_any_layout(const KernelDef& kernel, const KernelSpec& spec);

// Sets the layout of every operand to what the kernel declares; its kSame operands get `same` if takes_any_layout, else
// row-major. Operands of a rank below 3 are always called row-major.
void assign_layouts(const KernelDef& kernel, Layout same, KernelSpec& spec);

}  // namespace onward
