#include "ops/clip/bounds.h"
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

template <typename T>
void clip(const KernelSpec& spec, const KernelContext& context) {
  const ClipBounds<T> bounds(spec.attributes);
  parallel_for(spec.outputs[0].count(), kGrain, [&](int64_t begin, int64_t end) {
    clip_range(context.in<T>(0) + begin, bounds.low, bounds.high, context.out<T>(0) + begin, end - begin);
  });
}

template <typename T>
void clip_grad(const KernelSpec& spec, const KernelContext& context) {
  const ClipBounds<T> bounds(spec.attributes);
  parallel_for(spec.outputs[0].count(), kGrain, [&](int64_t begin, int64_t end) {
    clip_grad_range(context.in<T>(0) + begin, context.in<T>(1) + begin, bounds.low, bounds.high,
                    context.out<T>(0) + begin, end - begin);
  });
}

const std::vector<OperandLayout> kSame{OperandLayout::kSame};

template <typename T>
void add_clip(Registry& registry) {
  registry.add(KernelDef{.op = {"", "Clip"},
                         .dtype = registered_dtype<T>(),
                         .input_layouts = kSame,
                         .output_layouts = kSame,
                         .accepts = first_input_is<T>,
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
