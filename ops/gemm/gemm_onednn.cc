// Gemm in fp32 through oneDNN's matrix product. Transposed operands are the same memory with exchanged steps; the
// product is added to beta * C, which is written first.
#include "ops/core/registry.h"
#include "ops/gemm/geometry.h"
#include "ops/gemm/onednn_product.h"

namespace onward {
namespace {

dnnl::memory::desc matrix(int64_t rows, int64_t columns, bool transposed) {
  return onednn::strided({rows, columns}, transposed ? Shape{1, rows} : Shape{columns, 1});
}

class OnednnGemm final : public OnednnProduct {
 public:
  explicit OnednnGemm(const KernelSpec& spec)
      : OnednnProduct(spec, [&] { return operands(gemm_geometry(spec)); }), geometry_(gemm_geometry(spec)) {}

  void run(const KernelContext& context) override {
    const TeamSizeScope team(threads_);
    if (geometry_.has_c) {
      parallel_for(geometry_.m, 16384 / geometry_.n + 1, [&](int64_t begin, int64_t end) {
        start_with_c(geometry_, context.in<float>(2), context.out<float>(0), begin, end);
      });
    }
    multiply(context);
  }

 private:
  static Operands operands(const GemmGeometry& g) {
    return {.a = matrix(g.m, g.k, g.transposed_a),
            .b = matrix(g.k, g.n, g.transposed_b),
            .y = matrix(g.m, g.n, false),
            .alpha = static_cast<float>(g.alpha),
            .accumulate = g.has_c};
  }

  GemmGeometry geometry_;
};

bool accepts(const KernelSpec& spec) {
  const GemmGeometry geometry = gemm_geometry(spec);
  return geometry.m > 0 && geometry.n > 0 && geometry.k > 0;
}

}  // namespace

void register_gemm_onednn(Registry& registry) {
  registry.add(KernelDef{
      .op = kGemm,
      .dtype = DType::kFloat32,
      .priority = 10,
      .accepts = accepts,
      .make = [](const KernelSpec& spec) -> std::unique_ptr<Kernel> { return std::make_unique<OnednnGemm>(spec); }});
}

}  // namespace onward
