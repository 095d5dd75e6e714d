#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/gemm/geometry.h"

namespace onward {
namespace {

template <typename T>
class PlainGemm final : public Kernel {
 public:
  explicit PlainGemm(const KernelSpec& spec) : geometry_(gemm_geometry(spec)) {}

  void run(const KernelContext& context) override {
    const T* c = geometry_.has_c ? context.in<T>(2) : nullptr;
    parallel_for(geometry_.m, 1, [&](int64_t begin, int64_t end) {
      start_with_c(geometry_, c, context.out<T>(0), begin, end);
      for (int64_t i = begin; i < end; ++i) add_row(context.in<T>(0), context.in<T>(1), context.out<T>(0), i);
    });
  }

 private:
  void add_row(const T* a, const T* b, T* y, int64_t i) const {
    const auto [m, n, k, trans_a, trans_b, alpha, beta, c_row, c_column, has_c] = geometry_;
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a[trans_a ? l * m + i : i * k + l] * b[trans_b ? j * k + l : l * n + j];
      y[i * n + j] += static_cast<T>(alpha) * sum;
    }
  }

  GemmGeometry geometry_;
};

template <typename T>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  return std::make_unique<PlainGemm<T>>(spec);
}

}  // namespace

void register_gemm_cpu(Registry& registry) {
  registry.add(KernelDef{.op = kGemm, .dtype = DType::kFloat32, .make = make<float>});
  registry.add(KernelDef{.op = kGemm, .dtype = DType::kFloat64, .make = make<double>});
}

}  // namespace onward
