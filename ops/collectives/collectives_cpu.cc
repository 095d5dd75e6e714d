// Both run on a communication stream, whose thread opens no team: copies are plain.
#include <fmt/format.h>

#include <cstring>

#include "graph/error.h"
#include "ops/core/communicator.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

constexpr std::size_t kAlignment = 64;  // of buffers that a plan lays side by side

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool is_alone(const KernelContext& context) { return !context.communicator || context.communicator->size() == 1; }

void copy(const KernelContext& context, std::size_t i, std::size_t bytes) {
  if (context.inputs[i] != context.outputs[i]) std::memcpy(context.outputs[i], context.inputs[i], bytes);
}

// Whether operand i + 1 follows operand i in memory, directly or at the next aligned address, in place and of one type.
bool follows(const KernelSpec& spec, const KernelContext& context, std::size_t i) {
  if (spec.outputs[i].dtype != spec.outputs[i + 1].dtype) return false;
  const char *here = context.out<char>(i), *next = context.out<char>(i + 1);
  const std::size_t bytes = spec.outputs[i].bytes();
  return next == here + bytes || next == here + aligned(bytes);
}

// A bucket whose members lie side by side is one call; the padding between them is summed too, which harms nobody. Else
// there is one call per operand. Members lie in the same way on every replica, because a plan decides it from the
// bucket.
bool is_one_run(const KernelSpec& spec, const KernelContext& context) {
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    if (context.inputs[i] != context.outputs[i]) return false;
    if (i + 1 < spec.outputs.size() && !follows(spec, context, i)) return false;
  }
  return true;
}

void all_reduce(const KernelSpec& spec, const KernelContext& context) {
  Communicator* communicator = context.communicator;
  const std::size_t count = spec.outputs.size();
  if (!is_alone(context) && is_one_run(spec, context)) {
    const Operand& last = spec.outputs.back();
    const char* end = context.out<char>(count - 1) + last.bytes();
    const auto bytes = static_cast<std::size_t>(end - context.out<char>(0));
    communicator->all_reduce_sum(context.outputs[0], static_cast<int64_t>(bytes / dtype_size(last.dtype)), last.dtype);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    copy(context, i, spec.outputs[i].bytes());
    if (!is_alone(context))
      communicator->all_reduce_sum(context.outputs[i], spec.outputs[i].count(), spec.outputs[i].dtype);
  }
}

void all_gather(const KernelSpec& spec, const KernelContext& context) {
  const int size = context.communicator ? context.communicator->size() : 1;
  if (spec.outputs[0].shape[0] != size) {
    throw Error(ErrorKind::kDevice, fmt::format("{}: expected a group of {} replicas, found {}", spec.node,
                                                spec.outputs[0].shape[0], size));
  }
  if (is_alone(context)) {
    copy(context, 0, spec.inputs[0].bytes());
  } else {
    context.communicator->all_gather(context.inputs[0], context.outputs[0], spec.inputs[0].bytes());
  }
}

}  // namespace

void register_collectives_cpu(Registry& registry) {
  registry.add(KernelDef{
      .op = {kOnwardDomain, "AllReduce"}, .dtype = DType::kUndefined, .make = make_function_kernel<all_reduce>});
  registry.add(KernelDef{
      .op = {kOnwardDomain, "AllGather"}, .dtype = DType::kUndefined, .make = make_function_kernel<all_gather>});
}

}  // namespace onward
