#pragma once
#include <map>
#include <vector>

#include "ops/core/kernel.h"
#include "ops/core/op_def.h"

namespace onward {

// Every op and kernel of the program. Filled once by generated calls to the register_* function of each file under
// ops/.
class Registry {
 public:
  // Error(kModel) on a second record of the same op.
  void add(OpDef def);
  void add(KernelDef def);

  const OpDef* find(const OpId& op) const;  // nullptr if unknown
  // Error(kModel) naming the op if unknown.
  const OpDef& op(const OpId& op) const;
  const std::map<OpId, OpDef>& ops() const { return ops_; }

  // Kernels of an op in order of falling priority.
  std::vector<const KernelDef*> kernels(const OpId& op, Backend backend) const;
  // The kernel that runs the node: highest priority among those of its dtype that accept it; nullptr if there is none.
  // `max_priority` limits the choice: 0 gives the plain reference.
  const KernelDef* kernel(const KernelSpec& spec, Backend backend, int max_priority = 1 << 30) const;

 private:
  std::map<OpId, OpDef> ops_;
  std::map<OpId, std::vector<KernelDef>> kernels_;
};

// The program's registry, complete when first returned.
const Registry& registry();

// Generated: calls every register_* function.
void register_all(Registry& registry);

}  // namespace onward
