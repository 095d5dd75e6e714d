// Operands of one shape, and an operand that is one number, are plain passes over memory. Other broadcasts find their
// operands by dividing the position in the result.
#include <type_traits>

#include "ops/arithmetic/broadcast_walk.h"
#include "ops/core/cuda/pointwise.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

template <typename T>
struct Sum {
  __device__ T operator()(T a, T b) const { return a + b; }
};
template <typename T>
struct Difference {
  __device__ T operator()(T a, T b) const { return a - b; }
};
template <typename T>
struct Product {
  __device__ T operator()(T a, T b) const { return a * b; }
};
// Integers: by zero gives 0, and the smallest number by -1 wraps.
template <typename T>
struct Quotient {
  __device__ T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    }
    return a / b;
  }
};
template <typename T>
struct Negation {
  __device__ T operator()(T x) const { return -x; }
};

template <template <typename> class Op, typename T>
struct WithNumberFirst {
  const T* number;
  __device__ T operator()(T b) const { return Op<T>{}(*number, b); }
};
template <template <typename> class Op, typename T>
struct WithNumberSecond {
  const T* number;
  __device__ T operator()(T a) const { return Op<T>{}(a, *number); }
};

constexpr int kMostAxes = 8;

// Axes innermost first; Index is wide enough for the result's positions.
template <typename Index>
struct BroadcastAxes {
  int count = 0;
  Index size[kMostAxes], step_a[kMostAxes], step_b[kMostAxes];

  explicit BroadcastAxes(const std::vector<BroadcastWalk::Axis>& axes) : size{}, step_a{}, step_b{} {
    for (const BroadcastWalk::Axis& axis : axes) {
      size[count] = static_cast<Index>(axis.size);
      step_a[count] = static_cast<Index>(axis.step_a);
      step_b[count] = static_cast<Index>(axis.step_b);
      ++count;
    }
  }
};

template <template <typename> class Op, typename T, typename Index>
__global__ void __launch_bounds__(kPointwiseThreads)
    broadcast_kernel(BroadcastAxes<Index> axes, int64_t count, const T* a, const T* b, T* y) {
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += threads) {
    Index rest = static_cast<Index>(at), at_a = 0, at_b = 0;
    for (int i = 0; i < axes.count; ++i) {
      const Index outer = rest / axes.size[i], index = rest - outer * axes.size[i];
      at_a += index * axes.step_a[i];
      at_b += index * axes.step_b[i];
      rest = outer;
    }
    y[at] = Op<T>{}(a[at_a], b[at_b]);
  }
}

template <template <typename> class Op, typename T>
class BinaryKernel final : public Kernel {
 public:
  explicit BinaryKernel(const KernelSpec& spec)
      : walk_(spec.inputs[0].shape, spec.inputs[1].shape, spec.outputs[0].shape), axes_(walk_.axes()) {}

  void run(const KernelContext& context) override {
    const T *a = context.in<T>(0), *b = context.in<T>(1);
    T* y = context.out<T>(0);
    const bool flat = axes_.size() == 1;
    if (flat && walk_.step_a() == walk_.step_b()) {
      pointwise(walk_.count(), context.stream, Op<T>{}, y, a, b);
    } else if (flat && walk_.step_a() == 0) {
      pointwise(walk_.count(), context.stream, WithNumberFirst<Op, T>{a}, y, b);
    } else if (flat) {
      pointwise(walk_.count(), context.stream, WithNumberSecond<Op, T>{b}, y, a);
    } else if (walk_.count() < (int64_t{1} << 31)) {
      broadcast<uint32_t>(context, a, b, y);
    } else {
      broadcast<int64_t>(context, a, b, y);
    }
  }

 private:
  template <typename Index>
  void broadcast(const KernelContext& context, const T* a, const T* b, T* y) const {
    launch(broadcast_kernel<Op, T, Index>, pointwise_shape(walk_.count()), context.stream, BroadcastAxes<Index>(axes_),
           walk_.count(), a, b, y);
  }

  BroadcastWalk walk_;
  std::vector<BroadcastWalk::Axis> axes_;
};

template <typename T>
void negate(const KernelSpec& spec, const KernelContext& context) {
  pointwise(spec.outputs[0].count(), context.stream, Negation<T>{}, context.out<T>(0), context.in<T>(0));
}

template <typename T>
bool accepts(const KernelSpec& spec) {
  return first_input_is<T>(spec) && spec.outputs[0].shape.size() <= kMostAxes;
}

template <template <typename> class Op, typename T>
std::unique_ptr<Kernel> make_binary(const KernelSpec& spec) {
  return std::make_unique<BinaryKernel<Op, T>>(spec);
}

template <typename T>
void add_kernels(Registry& registry) {
  const std::vector<OperandLayout> same{OperandLayout::kSame};
  const auto add = [&](const char* op, std::unique_ptr<Kernel> (*make)(const KernelSpec&)) {
    registry.add(KernelDef{.op = {"", op},
                           .backend = Backend::kCuda,
                           .dtype = registered_dtype<T>(),
                           .input_layouts = same,
                           .output_layouts = same,
                           .accepts = accepts<T>,
                           .make = make});
  };
  add("Add", make_binary<Sum, T>);
  add("Sub", make_binary<Difference, T>);
  add("Mul", make_binary<Product, T>);
  add("Div", make_binary<Quotient, T>);
  add("Neg", make_function_kernel<negate<T>>);
}

}  // namespace

void register_arithmetic_cuda(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<int32_t>(registry);
  add_kernels<int64_t>(registry);
}

}  // namespace onward
