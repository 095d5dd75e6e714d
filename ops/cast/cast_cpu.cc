#include <type_traits>

#include "graph/tensor.h"
#include "ops/cast/convert_number.h"
#include "ops/core/copy.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 16384;

// The 16-bit floats as types of their own, so that they are not taken for integers.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

template <typename T>
T widen(T x) {
  return x;
}
float widen(Half x) { return half_to_float(x.bits); }
float widen(BFloat16 x) { return bfloat16_to_float(x.bits); }

template <typename To, typename From>
To convert(From raw) {
  const auto x = widen(raw);
  if constexpr (std::is_same_v<To, Half>) {
    return {float_to_half(static_cast<float>(x))};
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return {float_to_bfloat16(static_cast<float>(x))};
  } else {
    return convert_number<To>(x);
  }
}

template <typename From, typename To>
void cast(const KernelSpec& spec, const KernelContext& context) {
  const From* x = context.in<From>(0);
  To* y = context.out<To>(0);
  parallel_for(spec.outputs[0].count(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = convert<To>(x[i]);
  });
}

template <typename From>
KernelFunction cast_to(DType to) {
  switch (to) {
    case DType::kFloat32: return cast<From, float>;
    case DType::kFloat64: return cast<From, double>;
    case DType::kFloat16: return cast<From, Half>;
    case DType::kBFloat16: return cast<From, BFloat16>;
    case DType::kInt64: return cast<From, int64_t>;
    case DType::kInt32: return cast<From, int32_t>;
    case DType::kInt16: return cast<From, int16_t>;
    case DType::kInt8: return cast<From, int8_t>;
    case DType::kUInt8: return cast<From, uint8_t>;
    case DType::kBool: return cast<From, bool>;
    default: return nullptr;
  }
}

KernelFunction find_cast(DType from, DType to) {
  switch (from) {
    case DType::kFloat32: return cast_to<float>(to);
    case DType::kFloat64: return cast_to<double>(to);
    case DType::kFloat16: return cast_to<Half>(to);
    case DType::kBFloat16: return cast_to<BFloat16>(to);
    case DType::kInt64: return cast_to<int64_t>(to);
    case DType::kInt32: return cast_to<int32_t>(to);
    case DType::kInt16: return cast_to<int16_t>(to);
    case DType::kInt8: return cast_to<int8_t>(to);
    case DType::kUInt8: return cast_to<uint8_t>(to);
    case DType::kBool: return cast_to<bool>(to);
    default: return nullptr;
  }
}

class CastKernel final : public Kernel {
 public:
  explicit CastKernel(const KernelSpec& spec)
      : spec_(spec), function_(find_cast(spec.inputs[0].dtype, spec.outputs[0].dtype)) {}

  void run(const KernelContext& context) override {
    if (spec_.inputs[0].dtype == spec_.outputs[0].dtype) {
      parallel_copy(context.inputs[0], context.outputs[0], spec_.outputs[0].bytes());
    } else {
      function_(spec_, context);
    }
  }

 private:
  KernelSpec spec_;
  KernelFunction function_;
};

bool accepts(const KernelSpec& spec) { return find_cast(spec.inputs[0].dtype, spec.outputs[0].dtype) != nullptr; }

std::unique_ptr<Kernel> make(const KernelSpec& spec) { return std::make_unique<CastKernel>(spec); }

}  // namespace

void register_cast_cpu(Registry& registry) {
  const std::vector<OperandLayout> same{OperandLayout::kSame};
  registry.add(KernelDef{.op = {"", "Cast"},
                         .dtype = DType::kUndefined,
                         .input_layouts = same,
                         .output_layouts = same,
                         .accepts = accepts,
                         .make = make});
}

}  // namespace onward
