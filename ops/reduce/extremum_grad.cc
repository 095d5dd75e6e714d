#include "ops/reduce/extremum_grad.h"

#include "ops/core/parallel.h"
#include "ops/reduce/reduced_shape.h"

namespace onward {
namespace {

// dx = dy at the first element of each group, in row-major order, that equals the group's y; else 0.
template <typename T>
void extremum_grad(const KernelSpec& spec, const KernelContext& context) {
  const ReducedShape shape(spec.inputs[1].shape, spec.attributes.get_ints("axes", {}));
  const T *dy = context.in<T>(0), *x = context.in<T>(1), *y = context.in<T>(2);
  T* dx = context.out<T>(0);
  std::fill_n(dx, spec.outputs[0].count(), T(0));
  const int64_t lines = ReducedShape::count(shape.reduced);
  const int64_t columns = shape.inner_kept ? shape.inner : 1;
  const int64_t length = shape.inner_kept ? 1 : shape.inner;
  parallel_for(spec.inputs[0].count(), 64, [&](int64_t begin, int64_t end) {
    for (int64_t out = begin; out < end; ++out) {
      const int64_t base = ReducedShape::offset(shape.kept, out / columns) + out % columns;
      const auto send = [&](int64_t at) {
        const bool found = x[at] == y[out] || (x[at] != x[at] && y[out] != y[out]);
        if (found) dx[at] = dy[out];
        return found;
      };
      bool sent = false;
      for (int64_t line = 0; line < lines && !sent; ++line) {
        const int64_t start = base + ReducedShape::offset(shape.reduced, line);
        for (int64_t i = 0; i < length && !sent; ++i) sent = send(start + i);
      }
    }
  });
}

}  // namespace

void add_extremum_grad_kernels(Registry& registry) {
  const OpId op{kOnwardDomain, "ReduceExtremumGrad"};
  registry.add(KernelDef{.op = op, .dtype = DType::kFloat32, .make = make_function_kernel<extremum_grad<float>>});
  registry.add(KernelDef{.op = op, .dtype = DType::kFloat64, .make = make_function_kernel<extremum_grad<double>>});
}

}  // namespace onward
