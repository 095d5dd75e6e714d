#include "ops/batch_norm_lowered/channels_last_kernels.h"

#include "ops/batch_norm_lowered/batch_norm_lowered.h"

namespace onward {
namespace {

constexpr int kPriority = 10;
constexpr OperandLayout kVector = OperandLayout::kRowMajor;
constexpr OperandLayout kImage = OperandLayout::kChannelsLast;

}  // namespace

void add_channels_last_kernels(Registry& registry) {
  registry.add(KernelDef{.op = kBatchNormStatistics,
                         .priority = kPriority,
                         .input_layouts = {kImage},
                         .output_layouts = {kVector},
                         .make = make_channels_last_statistics});
  registry.add(KernelDef{.op = kBatchNormApply,
                         .priority = kPriority,
                         .input_layouts = {kImage, kVector, kVector, kVector, kVector, kImage},
                         .output_layouts = {kImage},
                         .make = make_channels_last_apply});
  registry.add(KernelDef{.op = kBatchNormGradReduce,
                         .priority = kPriority,
                         .input_layouts = {kImage, kImage, kVector, kVector, kVector, kVector, kImage, kImage},
                         .output_layouts = {kVector, kImage},
                         .make = make_channels_last_grad_reduce});
  registry.add(KernelDef{.op = kBatchNormGradApply,
                         .priority = kPriority,
                         .input_layouts = {kImage, kImage, kVector},
                         .output_layouts = {kImage},
                         .make = make_channels_last_grad_apply});
}

}  // namespace onward
