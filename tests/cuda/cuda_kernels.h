#pragma once
#include "ops/core/cuda/register_kernels.h"
#include "ops/core/registry.h"

namespace onward::test {

// The CUDA kernels alone, as the plugin will register them. Their ops' records are in registry().
inline const Registry& cuda_kernels() {
  static const Registry instance = [] {
    Registry filled;
    register_cuda_kernels(filled);
    return filled;
  }();
  return instance;
}

}  // namespace onward::test
