// Every output element adds its inputs in an order that does not depend on the number of threads. Sums of floats are
// taken in double: reductions feed losses and gradients of biases.
#include <limits>

#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"
#include "ops/reduce/extremum_grad.h"
#include "ops/reduce/reduced_shape.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kColumns = 64;  // of one block of outputs
constexpr int64_t kLanes = 8;     // running values of one line

struct Sum {
  template <typename A>
  static A start() {
    return A(0);
  }
  template <typename A>
  static A join(A a, A b) {
    return a + b;
  }
};
struct Max {  // NaN wins
  template <typename A>
  static A start() {
    return std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity()
                                                : std::numeric_limits<A>::lowest();
  }
  template <typename A>
  static A join(A a, A b) {
    return b > a || b != b ? b : a;
  }
};
struct Min {
  template <typename A>
  static A start() {
    return std::numeric_limits<A>::has_infinity ? std::numeric_limits<A>::infinity() : std::numeric_limits<A>::max();
  }
  template <typename A>
  static A join(A a, A b) {
    return b < a || b != b ? b : a;
  }
};

template <typename Op, typename A, typename T>
ONWARD_SIMD void join_lanes(const T* x, int64_t count, A* lanes) {
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = Op::join(lanes[k], static_cast<A>(x[i + k]));
  }
  for (int64_t i = whole; i < count; ++i) lanes[i - whole] = Op::join(lanes[i - whole], static_cast<A>(x[i]));
}

template <typename Op, typename A, typename T>
ONWARD_SIMD void join_columns(const T* x, int64_t count, A* columns) {
  for (int64_t i = 0; i < count; ++i) columns[i] = Op::join(columns[i], static_cast<A>(x[i]));
}

// One output element per combination of the kept loops; the innermost dimension is reduced.
template <typename Op, typename A, typename T>
void reduce_lines(const ReducedShape& shape, double scale, const T* x, T* y) {
  const int64_t lines = ReducedShape::count(shape.reduced);
  const int64_t work = std::max<int64_t>(lines * shape.inner, 1);
  parallel_for(ReducedShape::count(shape.kept), kGrain / work + 1, [&](int64_t begin, int64_t end) {
    for (int64_t out = begin; out < end; ++out) {
      A lanes[kLanes];
      std::fill_n(lanes, kLanes, Op::template start<A>());
      const T* from = x + ReducedShape::offset(shape.kept, out);
      for (int64_t line = 0; line < lines; ++line) {
        join_lanes<Op>(from + ReducedShape::offset(shape.reduced, line), shape.inner, lanes);
      }
      A total = lanes[0];
      for (int64_t k = 1; k < kLanes; ++k) total = Op::join(total, lanes[k]);
      y[out] = static_cast<T>(scale == 1 ? total : static_cast<A>(static_cast<double>(total) * scale));
    }
  });
}

// A row of outputs per combination of the kept loops; the innermost dimension is kept.
template <typename Op, typename A, typename T>
void reduce_columns(const ReducedShape& shape, double scale, const T* x, T* y) {
  const int64_t lines = ReducedShape::count(shape.reduced);
  const int64_t blocks = (shape.inner + kColumns - 1) / kColumns;
  const int64_t work = std::max<int64_t>(lines * std::min(shape.inner, kColumns), 1);
  parallel_for(ReducedShape::count(shape.kept) * blocks, kGrain / work + 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t out = task / blocks, first = task % blocks * kColumns;
      const int64_t count = std::min(kColumns, shape.inner - first);
      A columns[kColumns];
      std::fill_n(columns, kColumns, Op::template start<A>());
      const T* from = x + ReducedShape::offset(shape.kept, out) + first;
      for (int64_t line = 0; line < lines; ++line)
        join_columns<Op>(from + ReducedShape::offset(shape.reduced, line), count, columns);
      for (int64_t i = 0; i < count; ++i) {
        y[out * shape.inner + first + i] =
            static_cast<T>(scale == 1 ? columns[i] : static_cast<A>(static_cast<double>(columns[i]) * scale));
      }
    }
  });
}

template <typename Op, typename A, typename T>
void reduce(const KernelSpec& spec, const KernelContext& context, double scale = 1) {
  const ReducedShape shape(spec.inputs[0].shape, spec.attributes.get_ints("axes", {}));
  const auto run = shape.inner_kept ? reduce_columns<Op, A, T> : reduce_lines<Op, A, T>;
  run(shape, scale, context.in<T>(0), context.out<T>(0));
}

template <typename Op, typename A, typename T>
void run(const KernelSpec& spec, const KernelContext& context) {
  reduce<Op, A, T>(spec, context);
}

// The mean of nothing is 0.
template <typename T>
void mean(const KernelSpec& spec, const KernelContext& context) {
  const int64_t from = spec.inputs[0].count(), to = spec.outputs[0].count();
  reduce<Sum, double, T>(spec, context, from == 0 ? 0 : static_cast<double>(to) / static_cast<double>(from));
}

template <typename Op>
void integers(const KernelSpec& spec, const KernelContext& context) {
  if (spec.inputs[0].dtype == DType::kInt64) {
    reduce<Op, int64_t, int64_t>(spec, context);
  } else {
    reduce<Op, int32_t, int32_t>(spec, context);
  }
}

bool is_int32_or_int64(const KernelSpec& spec) {
  return spec.inputs[0].dtype == DType::kInt32 || spec.inputs[0].dtype == DType::kInt64;
}

template <typename T>
void add_kernels(Registry& registry) {
  const DType dtype = dtype_of<T>();
  registry.add(KernelDef{.op = {"", "ReduceSum"}, .dtype = dtype, .make = make_function_kernel<run<Sum, double, T>>});
  registry.add(KernelDef{.op = {"", "ReduceMean"}, .dtype = dtype, .make = make_function_kernel<mean<T>>});
  registry.add(KernelDef{.op = {"", "ReduceMax"}, .dtype = dtype, .make = make_function_kernel<run<Max, T, T>>});
  registry.add(KernelDef{.op = {"", "ReduceMin"}, .dtype = dtype, .make = make_function_kernel<run<Min, T, T>>});
}

template <typename Op>
void add_integers(Registry& registry, const char* name) {
  registry.add(KernelDef{.op = {"", name},
                         .dtype = DType::kUndefined,
                         .accepts = is_int32_or_int64,
                         .make = make_function_kernel<integers<Op>>});
}

}  // namespace

void register_reduce_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
  add_integers<Sum>(registry, "ReduceSum");
  add_integers<Max>(registry, "ReduceMax");
  add_integers<Min>(registry, "ReduceMin");
  add_extremum_grad_kernels(registry);
}

}  // namespace onward
