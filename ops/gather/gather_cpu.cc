#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "graph/error.h"
#include "ops/core/axes.h"
#include "ops/core/index_reader.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

constexpr int64_t kGrainBytes = 65536;

// Looked at before any thread starts: an exception must not leave a team.
void check_indices(const KernelSpec& spec, const IndexReader& indices, int64_t count, int64_t size) {
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < -size || indices[i] >= size) {
      throw Error(ErrorKind::kData, fmt::format("expected an index into {} slices, found {} at position {}; in {}",
                                                size, indices[i], i, spec.node));
    }
  }
}

int64_t wrapped(int64_t index, int64_t size) { return index < 0 ? index + size : index; }

AxisSplit split_of(const KernelSpec& spec, const Shape& shape) {
  return split_at(shape, static_cast<std::size_t>(resolve_axis(spec.attributes.get_int("axis", 0), shape.size())));
}

void gather(const KernelSpec& spec, const KernelContext& context) {
  const AxisSplit data = split_of(spec, spec.inputs[0].shape);
  const IndexReader indices(context.inputs[1], spec.inputs[1].dtype);
  const int64_t count = spec.inputs[1].count();
  check_indices(spec, indices, count, data.axis);
  const int64_t run = data.inner * static_cast<int64_t>(dtype_size(spec.inputs[0].dtype));
  if (run == 0) return;
  const char* from = context.in<char>(0);
  char* to = context.out<char>(0);
  parallel_for(data.outer * count, kGrainBytes / run + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t source = row / count * data.axis + wrapped(indices[row % count], data.axis);
      std::memcpy(to + row * run, from + source * run, static_cast<std::size_t>(run));
    }
  });
}

template <typename T>
void gather_grad(const KernelSpec& spec, const KernelContext& context) {
  const AxisSplit data = split_of(spec, spec.outputs[0].shape);
  const IndexReader indices(context.inputs[1], spec.inputs[1].dtype);
  const int64_t count = spec.inputs[1].count();
  check_indices(spec, indices, count, data.axis);
  const T* dy = context.in<T>(0);
  T* dx = context.out<T>(0);
  std::fill_n(dx, spec.outputs[0].count(), T(0));
  // Slices that share a target add in the order of the indices, whatever the team.
  parallel_for(data.outer, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * count; row < end * count; ++row) {
      const T* source = dy + row * data.inner;
      T* target = dx + (row / count * data.axis + wrapped(indices[row % count], data.axis)) * data.inner;
      for (int64_t i = 0; i < data.inner; ++i) target[i] += source[i];
    }
  });
}

}  // namespace

void register_gather_cpu(Registry& registry) {
  const OpId grad{kOnwardDomain, "GatherGrad"};
  registry.add(KernelDef{.op = {"", "Gather"}, .dtype = DType::kUndefined, .make = make_function_kernel<gather>});
  registry.add(KernelDef{.op = grad, .dtype = DType::kFloat32, .make = make_function_kernel<gather_grad<float>>});
  registry.add(KernelDef{.op = grad, .dtype = DType::kFloat64, .make = make_function_kernel<gather_grad<double>>});
}

}  // namespace onward
