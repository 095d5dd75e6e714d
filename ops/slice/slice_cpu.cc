#include <algorithm>

#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 16384;

// Where the elements of the slice lie in the whole: row by row of the slice's last dimension.
struct Positions {
  Shape outer;    // dimensions of the slice before the last
  Shape strides;  // in the whole, per step of the slice
  int64_t origin = 0;
  int64_t length = 1;
  int64_t stride = 1;  // between the elements of a row

  Positions(const Shape& whole, const Shape& slice, const Attributes& attributes) {
    const auto axes = attributes.get_ints("axes"), starts = attributes.get_ints("starts"),
               steps = attributes.get_ints("steps");
    strides.assign(whole.size(), 1);
    for (std::size_t i = whole.size(); i-- > 1;) strides[i - 1] = strides[i] * whole[i];
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const auto axis = static_cast<std::size_t>(axes[k]);
      origin += starts[k] * strides[axis];
      strides[axis] *= steps[k];
    }
    if (slice.empty()) return;
    length = slice.back();
    stride = strides.back();
    outer.assign(slice.begin(), slice.end() - 1);
  }
  int64_t row_start(int64_t row) const {
    int64_t offset = origin;
    for (std::size_t i = outer.size(); i-- > 0;) {
      offset += row % outer[i] * strides[i];
      row /= outer[i];
    }
    return offset;
  }
};

template <typename Word>
void take(const Positions& positions, const void* whole, void* slice) {
  parallel_for(element_count(positions.outer), kGrain / std::max<int64_t>(positions.length, 1) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const Word* from = static_cast<const Word*>(whole) + positions.row_start(row);
                   Word* to = static_cast<Word*>(slice) + row * positions.length;
                   for (int64_t i = 0; i < positions.length; ++i) to[i] = from[i * positions.stride];
                 }
               });
}

void slice(const KernelSpec& spec, const KernelContext& context) {
  if (spec.outputs[0].count() == 0) return;
  const Positions positions(spec.inputs[0].shape, spec.outputs[0].shape, spec.attributes);
  switch (dtype_size(spec.outputs[0].dtype)) {
    case 1: take<uint8_t>(positions, context.inputs[0], context.outputs[0]); break;
    case 2: take<uint16_t>(positions, context.inputs[0], context.outputs[0]); break;
    case 4: take<uint32_t>(positions, context.inputs[0], context.outputs[0]); break;
    default: take<uint64_t>(positions, context.inputs[0], context.outputs[0]); break;
  }
}

bool moves_words(const KernelSpec& spec) {
  const std::size_t size = dtype_size(spec.outputs[0].dtype);
  return size == 1 || size == 2 || size == 4 || size == 8;
}

template <typename T>
void slice_grad(const KernelSpec& spec, const KernelContext& context) {
  T* dx = context.out<T>(0);
  std::fill_n(dx, spec.outputs[0].count(), T(0));
  if (spec.inputs[0].count() == 0) return;
  const Positions positions(spec.outputs[0].shape, spec.inputs[0].shape, spec.attributes);
  const T* dy = context.in<T>(0);
  parallel_for(element_count(positions.outer), kGrain / std::max<int64_t>(positions.length, 1) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   T* to = dx + positions.row_start(row);
                   for (int64_t i = 0; i < positions.length; ++i)
                     to[i * positions.stride] = dy[row * positions.length + i];
                 }
               });
}

}  // namespace

void register_slice_cpu(Registry& registry) {
  const OpId grad{kOnwardDomain, "SliceGrad"};
  registry.add(KernelDef{
      .op = {"", "Slice"}, .dtype = DType::kUndefined, .accepts = moves_words, .make = make_function_kernel<slice>});
  registry.add(KernelDef{.op = grad, .dtype = DType::kFloat32, .make = make_function_kernel<slice_grad<float>>});
  registry.add(KernelDef{.op = grad, .dtype = DType::kFloat64, .make = make_function_kernel<slice_grad<double>>});
}

}  // namespace onward
