#include "ops/cast/convert_number.h"
#include "ops/core/cuda/pointwise.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

template <typename To, typename From>
struct Convert {
  __device__ To operator()(From x) const { return convert_number<To>(x); }
};

template <typename From, typename To>
void cast(const KernelSpec& spec, const KernelContext& context) {
  pointwise(spec.outputs[0].count(), context.stream, Convert<To, From>{}, context.out<To>(0), context.in<From>(0));
}

template <typename From>
KernelFunction cast_to(DType to) {
  switch (to) {
    case DType::kFloat32: return cast<From, float>;
    case DType::kFloat64: return cast<From, double>;
    case DType::kInt64: return cast<From, int64_t>;
    case DType::kInt32: return cast<From, int32_t>;
    case DType::kUInt8: return cast<From, uint8_t>;
    case DType::kBool: return cast<From, bool>;
    default: return nullptr;
  }
}

KernelFunction find_cast(DType from, DType to) {
  switch (from) {
    case DType::kFloat32: return cast_to<float>(to);
    case DType::kFloat64: return cast_to<double>(to);
    case DType::kInt64: return cast_to<int64_t>(to);
    case DType::kInt32: return cast_to<int32_t>(to);
    case DType::kUInt8: return cast_to<uint8_t>(to);
    case DType::kBool: return cast_to<bool>(to);
    default: return nullptr;
  }
}

class CastKernel final : public Kernel {
 public:
  explicit CastKernel(const KernelSpec& spec)
      : spec_(spec), function_(find_cast(spec.inputs[0].dtype, spec.outputs[0].dtype)) {}
  void run(const KernelContext& context) override { function_(spec_, context); }

 private:
  KernelSpec spec_;
  KernelFunction function_;
};

bool accepts(const KernelSpec& spec) { return find_cast(spec.inputs[0].dtype, spec.outputs[0].dtype) != nullptr; }

std::unique_ptr<Kernel> make(const KernelSpec& spec) { return std::make_unique<CastKernel>(spec); }

}  // namespace

void register_cast_cuda(Registry& registry) {
  const std::vector<OperandLayout> same{OperandLayout::kSame};
  registry.add(KernelDef{.op = {"", "Cast"},
                         .backend = Backend::kCuda,
                         .dtype = DType::kUndefined,
                         .input_layouts = same,
                         .output_layouts = same,
                         .accepts = accepts,
                         .make = make});
}

}  // namespace onward
