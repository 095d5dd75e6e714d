#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/matmul/geometry.h"

namespace onward {
namespace {

template <typename T>
class PlainMatMul final : public Kernel {
 public:
  explicit PlainMatMul(const KernelSpec& spec)
      : geometry_(matmul_geometry(spec.inputs[0].shape, spec.inputs[1].shape)) {}

  void run(const KernelContext& context) override {
    parallel_for(geometry_.items() * geometry_.m, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) output_row(context, row);
    });
  }

 private:
  void output_row(const KernelContext& context, int64_t row) const {
    const auto item = static_cast<std::size_t>(row / geometry_.m);
    const T* a = context.in<T>(0) + geometry_.a_offsets[item] + row % geometry_.m * geometry_.k;
    const T* b = context.in<T>(1) + geometry_.b_offsets[item];
    T* y = context.out<T>(0) + row * geometry_.n;
    for (int64_t j = 0; j < geometry_.n; ++j) {
      T sum = 0;
      for (int64_t l = 0; l < geometry_.k; ++l) sum += a[l] * b[l * geometry_.n + j];
      y[j] = sum;
    }
  }

  MatMulGeometry geometry_;
};

template <typename T>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  return std::make_unique<PlainMatMul<T>>(spec);
}

}  // namespace

void register_matmul_cpu(Registry& registry) {
  registry.add(KernelDef{.op = {"", "MatMul"}, .dtype = DType::kFloat32, .make = make<float>});
  registry.add(KernelDef{.op = {"", "MatMul"}, .dtype = DType::kFloat64, .make = make<double>});
}

}  // namespace onward
