#include <limits>

#include "ops/core/cuda/pointwise.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

// NaN stays NaN, and the upper bound wins where the bounds cross.
template <typename T>
struct Clip {
  T low, high;

  __device__ T operator()(T x) const {
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
};

template <typename T>
struct ClipGrad {
  T low, high;

  __device__ T operator()(T dy, T x) const { return x >= low && x <= high ? dy : T(0); }
};

// An attribute as the nearest number of the type.
template <typename T>
T within_type(double bound) {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::is_integer) {
    if (bound <= static_cast<double>(Limits::lowest())) return Limits::lowest();
    if (bound >= static_cast<double>(Limits::max())) return Limits::max();
  }
  return static_cast<T>(bound);
}

// The type's own limits where there is no bound; infinite ones for floats, so that infinities pass.
template <template <typename> class F, typename T>
F<T> with_bounds(const Attributes& attributes) {
  using Limits = std::numeric_limits<T>;
  F<T> function{Limits::has_infinity ? -Limits::infinity() : Limits::lowest(),
                Limits::has_infinity ? Limits::infinity() : Limits::max()};
  if (attributes.has("min")) function.low = within_type<T>(attributes.get_double("min"));
  if (attributes.has("max")) function.high = within_type<T>(attributes.get_double("max"));
  return function;
}

template <typename T>
void clip(const KernelSpec& spec, const KernelContext& context) {
  pointwise(spec.outputs[0].count(), context.stream, with_bounds<Clip, T>(spec.attributes), context.out<T>(0),
            context.in<T>(0));
}

template <typename T>
void clip_grad(const KernelSpec& spec, const KernelContext& context) {
  pointwise(spec.outputs[0].count(), context.stream, with_bounds<ClipGrad, T>(spec.attributes), context.out<T>(0),
            context.in<T>(0), context.in<T>(1));
}

template <typename T>
bool is_of(const KernelSpec& spec) {
  return spec.inputs[0].dtype == dtype_of<T>();
}

const std::vector<OperandLayout> kSame{OperandLayout::kSame};

template <typename T>
void add_clip(Registry& registry) {
  registry.add(KernelDef{.op = {"", "Clip"},
                         .backend = Backend::kCuda,
                         .dtype = is_floating(dtype_of<T>()) ? dtype_of<T>() : DType::kUndefined,
                         .input_layouts = kSame,
                         .output_layouts = kSame,
                         .accepts = is_of<T>,
                         .make = make_function_kernel<clip<T>>});
}

template <typename T>
void add_clip_grad(Registry& registry) {
  registry.add(KernelDef{.op = {kOnwardDomain, "ClipGrad"},
                         .backend = Backend::kCuda,
                         .dtype = dtype_of<T>(),
                         .input_layouts = kSame,
                         .output_layouts = kSame,
                         .make = make_function_kernel<clip_grad<T>>});
}

}  // namespace

void register_clip_cuda(Registry& registry) {
  add_clip<float>(registry);
  add_clip<int32_t>(registry);
  add_clip<int64_t>(registry);
  add_clip_grad<float>(registry);
}

}  // namespace onward
