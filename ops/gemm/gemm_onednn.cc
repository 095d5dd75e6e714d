// Gemm in fp32 through oneDNN's matrix product. Transposed operands are the same memory with exchanged steps; the
// product is added to beta * C, which is written first.
#include "ops/core/onednn.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/gemm/geometry.h"

namespace onward {
namespace {

dnnl::memory::desc matrix(int64_t rows, int64_t columns, bool transposed) {
  return onednn::strided({rows, columns}, transposed ? Shape{1, rows} : Shape{columns, 1});
}

class OnednnGemm final : public Kernel {
 public:
  explicit OnednnGemm(const KernelSpec& spec) : geometry_(gemm_geometry(spec)), threads_(spec.threads) {
    onednn::prepare(spec.node, threads_, [&] {
      const dnnl::memory::desc a = matrix(geometry_.m, geometry_.k, geometry_.transposed_a);
      const dnnl::memory::desc b = matrix(geometry_.k, geometry_.n, geometry_.transposed_b);
      const dnnl::memory::desc y = matrix(geometry_.m, geometry_.n, false);
      const auto product = onednn::matrix_product(a, b, y, static_cast<float>(geometry_.alpha), geometry_.has_c);
      step_ =
          onednn::Step(product, dnnl::matmul(product), {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, y}});
    });
  }

  std::size_t workspace_bytes() const override { return step_.scratchpad_bytes(); }
  std::string describe() const override { return "onednn " + step_.implementation(); }

  void run(const KernelContext& context) override {
    const TeamSizeScope team(threads_);
    if (geometry_.has_c) {
      parallel_for(geometry_.m, 16384 / geometry_.n + 1, [&](int64_t begin, int64_t end) {
        start_with_c(geometry_, context.in<float>(2), context.out<float>(0), begin, end);
      });
    }
    step_.run({context.inputs[0], context.inputs[1], context.outputs[0]}, context.workspace);
  }

 private:
  GemmGeometry geometry_;
  int threads_;
  onednn::Step step_;
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
