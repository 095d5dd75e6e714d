#include "ops/clip/bounds.h"
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

template <template <typename> class F, typename T>
F<T> with_bounds(const Attributes& attributes) {
  const ClipBounds<T> bounds(attributes);
  return {bounds.low, bounds.high};
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

const std::vector<OperandLayout> kSame{OperandLayout::kSame};

template <typename T>
void add_clip(Registry& registry) {
  registry.add(KernelDef{.op = {"", "Clip"},
                         .backend = Backend::kCuda,
                         .dtype = registered_dtype<T>(),
                         .input_layouts = kSame,
                         .output_layouts = kSame,
                         .accepts = first_input_is<T>,
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
