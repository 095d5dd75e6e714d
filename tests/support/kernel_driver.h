#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "ops/core/layout.h"
#include "ops/core/registry.h"
#include "tests/support/tensors.h"

namespace onward::test {

// How a kernel is run by hand.
struct KernelRun {
  int threads = 1;
  uint8_t garbage = 0xff;               // what outputs and workspace hold before: 0xff bytes are NaN
  Layout same = Layout::kRowMajor;      // the layout given to operands declared kSame
  std::optional<InPlacePair> in_place;  // the output shares the input's buffer
};

// Runs one kernel on row-major tensors, converting to and from the layouts it declares. Buffers are surrounded by guard
// bytes; Error(kRun) if the kernel wrote outside its own or changed an input.
std::vector<MaybeTensor> run_kernel(const KernelDef& kernel, KernelSpec spec, const std::vector<MaybeTensor>& inputs,
                                    const KernelRun& run = {});
// Runs the node's best kernel up to a priority.
std::vector<MaybeTensor> run_node(const Node& node, const std::vector<MaybeTensor>& inputs, int max_priority = 0);

}  // namespace onward::test
