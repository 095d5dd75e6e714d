// Gemm in fp64 through BLAS, rows cut over the team.
#include "ops/core/blas.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/gemm/geometry.h"

namespace onward {
namespace {

class BlasGemm final : public Kernel {
 public:
  explicit BlasGemm(const KernelSpec& spec) : geometry_(gemm_geometry(spec)) { blas::use_one_thread(); }

  std::string describe() const override { return "blas"; }

  void run(const KernelContext& context) override {
    const double* c = geometry_.has_c ? context.in<double>(2) : nullptr;
    parallel_for(geometry_.m, 8, [&](int64_t begin, int64_t end) {
      double* y = context.out<double>(0);
      start_with_c(geometry_, c, y, begin, end);
      const auto& g = geometry_;
      const double* a = context.in<double>(0) + (g.transposed_a ? begin : begin * g.k);
      blas::product(g.transposed_a, g.transposed_b, end - begin, g.n, g.k, g.alpha, a, g.transposed_a ? g.m : g.k,
                    context.in<double>(1), g.transposed_b ? g.k : g.n, 1, y + begin * g.n, g.n);
    });
  }

 private:
  GemmGeometry geometry_;
};

bool accepts(const KernelSpec& spec) {
  const GemmGeometry geometry = gemm_geometry(spec);
  return geometry.m > 0 && geometry.n > 0 && geometry.k > 0;
}

}  // namespace

void register_gemm_blas(Registry& registry) {
  registry.add(KernelDef{
      .op = kGemm,
      .dtype = DType::kFloat64,
      .priority = 10,
      .accepts = accepts,
      .make = [](const KernelSpec& spec) -> std::unique_ptr<Kernel> { return std::make_unique<BlasGemm>(spec); }});
}

}  // namespace onward
