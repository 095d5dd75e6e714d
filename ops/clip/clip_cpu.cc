#include <limits>

#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 16384;

// NaN stays NaN, and the upper bound wins where the bounds cross, as the standard says.
template <typename T>
ONWARD_SIMD void clip_range(const T* x, T low, T high, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const T raised = x[i] < low ? low : x[i];
    y[i] = raised > high ? high : raised;
  }
}

template <typename T>
ONWARD_SIMD void clip_grad_range(const T* dy, const T* x, T low, T high, T* dx, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) dx[i] = (x[i] >= low) & (x[i] <= high) ? dy[i] : T(0);
}

// The type's own limits where there is no bound; infinite ones for floats, so that infinities pass.
template <typename T>
struct Bounds {
  T low, high;
  explicit Bounds(const Attributes& attributes) {
    using Limits = std::numeric_limits<T>;
    low = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    high = Limits::has_infinity ? Limits::infinity() : Limits::max();
    if (attributes.has("min")) low = within_type(attributes.get_double("min"));
    if (attributes.has("max")) high = within_type(attributes.get_double("max"));
  }

 private:
  static T within_type(double bound) {
    using Limits = std::numeric_limits<T>;
    if constexpr (Limits::is_integer) {
      if (bound <= static_cast<double>(Limits::lowest())) return Limits::lowest();
      if (bound >= static_cast<double>(Limits::max())) return Limits::max();
    }
    return static_cast<T>(bound);
  }
};

template <typename T>
void clip(const KernelSpec& spec, const KernelContext& context) {
  const Bounds<T> bounds(spec.attributes);
  parallel_for(spec.outputs[0].count(), kGrain, [&](int64_t begin, int64_t end) {
    clip_range(context.in<T>(0) + begin, bounds.low, bounds.high, context.out<T>(0) + begin, end - begin);
  });
}

template <typename T>
void clip_grad(const KernelSpec& spec, const KernelContext& context) {
  const Bounds<T> bounds(spec.attributes);
  parallel_for(spec.outputs[0].count(), kGrain, [&](int64_t begin, int64_t end) {
    clip_grad_range(context.in<T>(0) + begin, context.in<T>(1) + begin, bounds.low, bounds.high,
                    context.out<T>(0) + begin, end - begin);
  });
}

template <typename T>
bool is_of(const KernelSpec& spec) {
  return spec.inputs[0].dtype == dtype_of<T>();
}

const std::vector<OperandLayout> kSame{OperandLayout::kSame};

template <typename T>
void add_clip(Registry& registry) {
  const DType dtype = is_floating(dtype_of<T>()) ? dtype_of<T>() : DType::kUndefined;
  registry.add(KernelDef{.op = {"", "Clip"},
                         .dtype = dtype,
                         .input_layouts = kSame,
                         .output_layouts = kSame,
                         .accepts = is_of<T>,
                         .make = make_function_kernel<clip<T>>});
}

template <typename T>
void add_clip_grad(Registry& registry) {
  registry.add(KernelDef{.op = {kOnwardDomain, "ClipGrad"},
                         .dtype = dtype_of<T>(),
                         .input_layouts = kSame,
                         .output_layouts = kSame,
                         .make = make_function_kernel<clip_grad<T>>});
}

}  // namespace

void register_clip_cpu(Registry& registry) {
  add_clip<float>(registry);
  add_clip<double>(registry);
  add_clip<int32_t>(registry);
  add_clip<int64_t>(registry);
  add_clip_grad<float>(registry);
  add_clip_grad<double>(registry);
}

}  // namespace onward
