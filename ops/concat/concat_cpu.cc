#include <cstring>

#include "ops/core/axes.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

constexpr int64_t kGrainBytes = 65536;

// Copies `rows` runs of `bytes` bytes between tensors whose runs start `from_stride` and `to_stride` bytes apart.
void copy_runs(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t rows, int64_t bytes) {
  if (bytes == 0) return;
  parallel_for(rows, kGrainBytes / bytes + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::memcpy(to + row * to_stride, from + row * from_stride, static_cast<std::size_t>(bytes));
    }
  });
}

AxisSplit split_of(const KernelSpec& spec, const Operand& operand) {
  return split_at(operand.shape,
                  static_cast<std::size_t>(resolve_axis(spec.attributes.get_int("axis"), operand.shape.size())));
}

void concat(const KernelSpec& spec, const KernelContext& context) {
  const auto size = static_cast<int64_t>(dtype_size(spec.outputs[0].dtype));
  const AxisSplit whole = split_of(spec, spec.outputs[0]);
  char* to = context.out<char>(0);
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const int64_t run = split_of(spec, spec.inputs[i]).axis * whole.inner * size;
    copy_runs(context.in<char>(i), run, to, whole.axis * whole.inner * size, whole.outer, run);
    to += run;
  }
}

void slice_axis(const KernelSpec& spec, const KernelContext& context) {
  const auto size = static_cast<int64_t>(dtype_size(spec.outputs[0].dtype));
  const AxisSplit whole = split_of(spec, spec.inputs[0]);
  const int64_t begin = spec.attributes.get_int("begin"), end = spec.attributes.get_int("end");
  const int64_t run = (end - begin) * whole.inner * size;
  copy_runs(context.in<char>(0) + begin * whole.inner * size, whole.axis * whole.inner * size, context.out<char>(0),
            run, whole.outer, run);
}

}  // namespace

void register_concat_cpu(Registry& registry) {
  registry.add(KernelDef{.op = {"", "Concat"}, .dtype = DType::kUndefined, .make = make_function_kernel<concat>});
  registry.add(KernelDef{
      .op = {kOnwardDomain, "SliceAxis"}, .dtype = DType::kUndefined, .make = make_function_kernel<slice_axis>});
}

}  // namespace onward
