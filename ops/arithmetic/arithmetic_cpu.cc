#include <memory>

#include "ops/arithmetic/broadcast_walk.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 16384;

enum class Binary { kAdd, kSub, kMul, kDiv };

// Integer division that ends no process: by zero gives 0, and the smallest number by -1 wraps.
template <typename T>
T divide_integers(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  return a / b;
}

// The operands of a run: both arrays, or one array and one repeated number.
template <typename T>
ONWARD_SIMD void add_arrays(const T* a, const T* b, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}
template <typename T>
ONWARD_SIMD void add_number(const T* a, T b, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b;
}
template <typename T>
ONWARD_SIMD void sub_arrays(const T* a, const T* b, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] - b[i];
}
template <typename T>
ONWARD_SIMD void sub_number(const T* a, T b, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] - b;
}
template <typename T>
ONWARD_SIMD void sub_from_number(T a, const T* b, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = a - b[i];
}
template <typename T>
ONWARD_SIMD void mul_arrays(const T* a, const T* b, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
}
template <typename T>
ONWARD_SIMD void mul_number(const T* a, T b, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b;
}
template <typename T>
ONWARD_SIMD void div_arrays(const T* a, const T* b, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] / b[i];
}
template <typename T>
ONWARD_SIMD void div_number(const T* a, T b, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] / b;
}
template <typename T>
ONWARD_SIMD void div_into_number(T a, const T* b, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = a / b[i];
}
template <typename T>
ONWARD_SIMD void negate(const T* x, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = -x[i];
}

// Steps are 1 for an array and 0 for a number; both are 0 only when the result has one element.
template <Binary kOp, typename T>
void run_range(const T* a, int64_t step_a, const T* b, int64_t step_b, T* y, int64_t n) {
  if constexpr (kOp == Binary::kDiv && std::is_integral_v<T>) {
    for (int64_t i = 0; i < n; ++i) y[i] = divide_integers(a[i * step_a], b[i * step_b]);
  } else if constexpr (kOp == Binary::kAdd) {
    step_b == 0 ? add_number(a, *b, y, n) : step_a == 0 ? add_number(b, *a, y, n) : add_arrays(a, b, y, n);
  } else if constexpr (kOp == Binary::kSub) {
    step_b == 0 ? sub_number(a, *b, y, n) : step_a == 0 ? sub_from_number(*a, b, y, n) : sub_arrays(a, b, y, n);
  } else if constexpr (kOp == Binary::kMul) {
    step_b == 0 ? mul_number(a, *b, y, n) : step_a == 0 ? mul_number(b, *a, y, n) : mul_arrays(a, b, y, n);
  } else {
    step_b == 0 ? div_number(a, *b, y, n) : step_a == 0 ? div_into_number(*a, b, y, n) : div_arrays(a, b, y, n);
  }
}

template <Binary kOp, typename T>
class BinaryKernel final : public Kernel {
 public:
  explicit BinaryKernel(const KernelSpec& spec)
      : walk_(spec.inputs[0].shape, spec.inputs[1].shape, spec.outputs[0].shape) {}

  void run(const KernelContext& context) override {
    const T *a = context.in<T>(0), *b = context.in<T>(1);
    T* y = context.out<T>(0);
    parallel_for(walk_.count(), kGrain, [&](int64_t begin, int64_t end) {
      walk_.visit(begin, end, [&](int64_t at, int64_t at_a, int64_t at_b, int64_t length) {
        run_range<kOp>(a + at_a, walk_.step_a(), b + at_b, walk_.step_b(), y + at, length);
      });
    });
  }

 private:
  BroadcastWalk walk_;
};

template <typename T>
void run_negate(const KernelSpec& spec, const KernelContext& context) {
  parallel_for(spec.outputs[0].count(), kGrain, [&](int64_t begin, int64_t end) {
    negate(context.in<T>(0) + begin, context.out<T>(0) + begin, end - begin);
  });
}

template <typename T>
KernelDef kernel(const char* op, std::unique_ptr<Kernel> (*make)(const KernelSpec&)) {
  const std::vector<OperandLayout> same{OperandLayout::kSame};
  return {.op = {"", op},
          .dtype = registered_dtype<T>(),
          .input_layouts = same,
          .output_layouts = same,
          .accepts = first_input_is<T>,
          .make = make};
}

template <Binary kOp, typename T>
std::unique_ptr<Kernel> make_binary(const KernelSpec& spec) {
  return std::make_unique<BinaryKernel<kOp, T>>(spec);
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(kernel<T>("Add", make_binary<Binary::kAdd, T>));
  registry.add(kernel<T>("Sub", make_binary<Binary::kSub, T>));
  registry.add(kernel<T>("Mul", make_binary<Binary::kMul, T>));
  registry.add(kernel<T>("Div", make_binary<Binary::kDiv, T>));
  registry.add(kernel<T>("Neg", make_function_kernel<run_negate<T>>));
}

}  // namespace

void register_arithmetic_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
  add_kernels<int32_t>(registry);
  add_kernels<int64_t>(registry);
}

}  // namespace onward
