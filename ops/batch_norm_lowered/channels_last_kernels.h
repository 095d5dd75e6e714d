#pragma once
#include <memory>

#include "ops/core/kernel.h"
#include "ops/core/registry.h"

namespace onward {

// The fast fp32 kernels of the lowered ops: channels-last, vectorised, one pass over each tensor. They are bound by
// memory, so all of them walk rows in order and keep what they need per channel in the nearest cache (see row_tiles.h).
void add_channels_last_kernels(Registry& registry);

std::unique_ptr<Kernel> make_channels_last_statistics(const KernelSpec& spec);
std::unique_ptr<Kernel> make_channels_last_apply(const KernelSpec& spec);
std::unique_ptr<Kernel> make_channels_last_grad_reduce(const KernelSpec& spec);
std::unique_ptr<Kernel> make_channels_last_grad_apply(const KernelSpec& spec);

}  // namespace onward
