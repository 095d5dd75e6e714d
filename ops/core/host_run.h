#pragma once
#include <vector>

#include "graph/tensor.h"
#include "ops/core/registry.h"

namespace onward {

// How to run one node on host tensors.
struct HostRunOptions {
  int max_priority = 1 << 30;              // 0: the plain reference kernel
  const KernelDef* kernel = nullptr;       // this kernel instead of the registry's choice
  int threads = 1;                         // what the kernel is prepared for; the calling thread's team runs it
  Layout same_layout = Layout::kRowMajor;  // what kSame operands get where the kernel allows it
  bool in_place = false;                   // outputs of declared in-place pairs share the memory of their inputs
  bool fill_with_nan = false;              // outputs and workspace hold NaN (all bits set) on entry, else zeros
  int rank = 0;
  int replicas = 1;
  Communicator* communicator = nullptr;  // for ops that communicate
};

// Runs one node with static types on the calling thread, with the registry's CPU kernel: for constant folding and
// tests. `inputs` are row-major, one per input of the node, empty where absent; so are the outputs that come back.
// Inputs are never changed. Error(kModel) if there is no kernel or an input does not have the node's type.
std::vector<HostTensor> run_node_on_host(const Node& node, const std::vector<HostTensor>& inputs,
                                         const Registry& registry, const HostRunOptions& options = {});

}  // namespace onward
