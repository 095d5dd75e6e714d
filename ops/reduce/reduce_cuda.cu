// Where the innermost dimension is reduced a block makes one output, else a thread does. Sums of floats are taken in
// double, as on the CPU, in an order that depends on the shape alone. Positions are 32 bits wide, because divisions of
// 64 bits cost more than all the rest.
#include <algorithm>
#include <limits>

#include "ops/core/cuda/pointwise.h"
#include "ops/core/cuda/warp.h"
#include "ops/core/registry.h"
#include "ops/reduce/reduced_shape.h"

namespace onward {
namespace {

constexpr int kReduceThreads = 256;
constexpr int kMostLoops = 4;

struct DeviceLoops {
  int count = 0;
  uint32_t size[kMostLoops] = {}, stride[kMostLoops] = {};

  explicit DeviceLoops(const std::vector<ReducedShape::Loop>& loops) {
    for (const ReducedShape::Loop& loop : loops) {
      size[count] = static_cast<uint32_t>(loop.size);
      stride[count] = static_cast<uint32_t>(loop.stride);
      ++count;
    }
  }
  // Where the index-th combination of the loops starts in the input.
  __device__ uint32_t offset(uint32_t index) const {
    uint32_t sum = 0;
#pragma unroll
    for (int i = kMostLoops - 1; i >= 0; --i) {
      if (i >= count) continue;
      sum += index % size[i] * stride[i];
      index /= size[i];
    }
    return sum;
  }
};

struct Sum {
  template <typename A>
  static __device__ A start() {
    return A(0);
  }
  template <typename A>
  static __device__ A join(A a, A b) {
    return a + b;
  }
};
struct Max {  // NaN wins
  template <typename A>
  static __device__ A start() {
    using Limits = std::numeric_limits<A>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  template <typename A>
  static __device__ A join(A a, A b) {
    return b > a || b != b ? b : a;
  }
};
struct Min {
  template <typename A>
  static __device__ A start() {
    using Limits = std::numeric_limits<A>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <typename A>
  static __device__ A join(A a, A b) {
    return b < a || b != b ? b : a;
  }
};

template <typename A, typename T>
__device__ T scaled(A total, double scale) {
  return static_cast<T>(scale == 1 ? total : static_cast<A>(static_cast<double>(total) * scale));
}

// Right on thread 0.
template <typename Op, typename A>
__device__ A join_block(A own) {
  ONWARD_SHARED(A, values, kReduceThreads);
  __syncthreads();  // an earlier call may still be reading `values`
  values[threadIdx.x] = own;
  __syncthreads();
  for (unsigned half = kReduceThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) values[threadIdx.x] = Op::join(values[threadIdx.x], values[threadIdx.x + half]);
    __syncthreads();
  }
  return values[0];
}

template <typename Op, typename A, typename T>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_lines_kernel(DeviceLoops kept, DeviceLoops reduced, uint32_t outputs, uint32_t elements, uint32_t inner,
                        double scale, const T* x, T* y) {
  for (uint32_t out = blockIdx.x; out < outputs; out += gridDim.x) {
    const T* from = x + kept.offset(out);
    A own = Op::template start<A>();
    for (uint32_t i = threadIdx.x; i < elements; i += kReduceThreads) {
      own = Op::join(own, static_cast<A>(from[reduced.offset(i / inner) + i % inner]));
    }
    own = join_block<Op>(own);
    if (threadIdx.x == 0) y[out] = scaled<A, T>(own, scale);
  }
}

template <typename Op, typename A, typename T>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_columns_kernel(DeviceLoops kept, DeviceLoops reduced, uint32_t outputs, uint32_t lines, uint32_t inner,
                          double scale, const T* x, T* y) {
  const uint32_t threads = gridDim.x * kReduceThreads;
  for (uint32_t out = blockIdx.x * kReduceThreads + threadIdx.x; out < outputs; out += threads) {
    const T* from = x + kept.offset(out / inner) + out % inner;
    A own = Op::template start<A>();
    for (uint32_t line = 0; line < lines; ++line) own = Op::join(own, static_cast<A>(from[reduced.offset(line)]));
    y[out] = scaled<A, T>(own, scale);
  }
}

template <typename Op, typename A, typename T>
void reduce(const KernelSpec& spec, const KernelContext& context, double scale = 1) {
  const ReducedShape shape(spec.inputs[0].shape, spec.attributes.get_ints("axes", {}));
  const DeviceLoops kept(shape.kept), reduced(shape.reduced);
  const auto outputs = static_cast<uint32_t>(spec.outputs[0].count()), inner = static_cast<uint32_t>(shape.inner);
  const auto lines = static_cast<uint32_t>(ReducedShape::count(shape.reduced));
  if (shape.inner_kept) {
    launch(reduce_columns_kernel<Op, A, T>, pointwise_shape(outputs), context.stream, kept, reduced, outputs, lines,
           inner, scale, context.in<T>(0), context.out<T>(0));
  } else {
    LaunchShape blocks{.grid = {}, .block = dim3(kReduceThreads)};
    blocks.grid.x = outputs < kPointwiseBlocks ? outputs : static_cast<unsigned>(kPointwiseBlocks);
    launch(reduce_lines_kernel<Op, A, T>, blocks, context.stream, kept, reduced, outputs, lines * inner, inner, scale,
           context.in<T>(0), context.out<T>(0));
  }
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

template <typename T>
bool fits(const KernelSpec& spec) {
  const ReducedShape shape(spec.inputs[0].shape, spec.attributes.get_ints("axes", {}));
  const bool narrow = std::max(spec.inputs[0].count(), spec.outputs[0].count()) < (int64_t{1} << 31);
  return narrow && first_input_is<T>(spec) && shape.kept.size() <= kMostLoops && shape.reduced.size() <= kMostLoops;
}

template <typename T>
KernelDef kernel(const char* op, std::unique_ptr<Kernel> (*make)(const KernelSpec&)) {
  return {.op = {"", op}, .backend = Backend::kCuda, .dtype = registered_dtype<T>(), .accepts = fits<T>, .make = make};
}

template <typename T>
void add_floats(Registry& registry) {
  registry.add(kernel<T>("ReduceSum", make_function_kernel<run<Sum, double, T>>));
  registry.add(kernel<T>("ReduceMean", make_function_kernel<mean<T>>));
  registry.add(kernel<T>("ReduceMax", make_function_kernel<run<Max, T, T>>));
  registry.add(kernel<T>("ReduceMin", make_function_kernel<run<Min, T, T>>));
}

template <typename T>
void add_integers(Registry& registry) {
  registry.add(kernel<T>("ReduceSum", make_function_kernel<run<Sum, T, T>>));
  registry.add(kernel<T>("ReduceMax", make_function_kernel<run<Max, T, T>>));
  registry.add(kernel<T>("ReduceMin", make_function_kernel<run<Min, T, T>>));
}

}  // namespace

void register_reduce_cuda(Registry& registry) {
  add_floats<float>(registry);
  add_integers<int32_t>(registry);
  add_integers<int64_t>(registry);
}

}  // namespace onward
