#include "ops/core/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace onward {

void Registry::add(OpDef def) {
  const OpId id = def.id;
  if (!ops_.emplace(id, std::move(def)).second) {
    throw Error(ErrorKind::kModel, fmt::format("the op {} is registered twice", to_string(id)));
  }
}

void Registry::add(KernelDef def) {
  auto& list = kernels_[def.op];
  const auto after = [&](const KernelDef& other) { return other.priority < def.priority; };
  list.insert(std::find_if(list.begin(), list.end(), after), std::move(def));
}

const OpDef* Registry::find(const OpId& op) const {
  const auto found = ops_.find(op);
  return found == ops_.end() ? nullptr : &found->second;
}

const OpDef& Registry::op(const OpId& op) const {
  if (const OpDef* def = find(op)) return *def;
  throw Error(ErrorKind::kModel,
              fmt::format("the op {} is not supported; `onward ops` lists those that are", to_string(op)));
}

std::vector<const KernelDef*> Registry::kernels(const OpId& op, Backend backend) const {
  std::vector<const KernelDef*> list;
  const auto found = kernels_.find(op);
  if (found == kernels_.end()) return list;
  for (const KernelDef& def : found->second) {
    if (def.backend == backend) list.push_back(&def);
  }
  return list;
}

const KernelDef* Registry::kernel(const KernelSpec& spec, Backend backend, int max_priority) const {
  const DType dtype = kernel_dtype(spec);
  for (const KernelDef* def : kernels(spec.op, backend)) {
    if (def->priority > max_priority || (def->dtype != DType::kUndefined && def->dtype != dtype)) continue;
    if (!def->accepts || def->accepts(spec)) return def;
  }
  return nullptr;
}

const Registry& registry() {
  static const Registry instance = [] {
    Registry filled;
    register_all(filled);
    return filled;
  }();
  return instance;
}

}  // namespace onward
