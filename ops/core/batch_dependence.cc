#include "ops/core/batch_dependence.h"

#include <unordered_set>

namespace onward {

bool depends_on_batch(const Value& value) {
  std::vector<const Value*> open{&value};
  std::unordered_set<const Value*> seen{&value};
  while (!open.empty()) {
    const Value* current = open.back();
    open.pop_back();
    if (current->role == Role::kInput || current->role == Role::kLabel) return true;
    if (!current->producer()) continue;
    for (const Value* input : current->producer()->inputs()) {
      if (input && seen.insert(input).second) open.push_back(input);
    }
  }
  return false;
}

}  // namespace onward
