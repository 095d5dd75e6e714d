// MatMul in fp32 through oneDNN, which broadcasts batch dimensions of size 1 itself. Both operands are described with
// the rank of the result; a plain matrix on the right of a batch makes the batch part of the rows.
#include "ops/core/onednn.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/matmul/geometry.h"

namespace onward {
namespace {

Shape with_rank(const Shape& own_batch, std::size_t rank, int64_t rows, int64_t columns) {
  Shape shape(rank - own_batch.size(), 1);
  shape.insert(shape.end(), own_batch.begin(), own_batch.end());
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

class OnednnMatMul final : public Kernel {
 public:
  explicit OnednnMatMul(const KernelSpec& spec) : threads_(spec.threads) {
    MatMulGeometry g = matmul_geometry(spec.inputs[0].shape, spec.inputs[1].shape);
    if (g.b_batch.empty()) {
      g.m *= g.items();
      g.a_batch = g.batch = {};
    }
    onednn::prepare(spec.node, threads_, [&] {
      const dnnl::memory::desc a = onednn::row_major(with_rank(g.a_batch, g.batch.size(), g.m, g.k));
      const dnnl::memory::desc b = onednn::row_major(with_rank(g.b_batch, g.batch.size(), g.k, g.n));
      const dnnl::memory::desc y = onednn::row_major(with_rank(g.batch, g.batch.size(), g.m, g.n));
      const auto product = onednn::matrix_product(a, b, y, 1, false);
      step_ =
          onednn::Step(product, dnnl::matmul(product), {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, y}});
    });
  }

  std::size_t workspace_bytes() const override { return step_.scratchpad_bytes(); }
  std::string describe() const override { return "onednn " + step_.implementation(); }

  void run(const KernelContext& context) override {
    const TeamSizeScope team(threads_);
    step_.run({context.inputs[0], context.inputs[1], context.outputs[0]}, context.workspace);
  }

 private:
  int threads_;
  onednn::Step step_;
};

// Ranks beyond those that its fast implementations take, and empty products, are the plain kernel's.
bool accepts(const KernelSpec& spec) {
  constexpr std::size_t kMostBatchDimensions = 4;
  const MatMulGeometry g = matmul_geometry(spec.inputs[0].shape, spec.inputs[1].shape);
  return g.items() > 0 && g.m > 0 && g.n > 0 && g.k > 0 && g.batch.size() <= kMostBatchDimensions;
}

}  // namespace

void register_matmul_onednn(Registry& registry) {
  registry.add(KernelDef{
      .op = {"", "MatMul"},
      .dtype = DType::kFloat32,
      .priority = 10,
      .accepts = accepts,
      .make = [](const KernelSpec& spec) -> std::unique_ptr<Kernel> { return std::make_unique<OnednnMatMul>(spec); }});
}

}  // namespace onward
