// MatMul in fp32 through oneDNN, which broadcasts batch dimensions of size 1 itself. Both operands are described with
// the rank of the result; a plain matrix on the right of a batch makes the batch part of the rows.
#include "ops/core/registry.h"
#include "ops/gemm/onednn_product.h"
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

class OnednnMatMul final : public OnednnProduct {
 public:
  explicit OnednnMatMul(const KernelSpec& spec)
      : OnednnProduct(spec, [&] { return operands(matmul_geometry(spec.inputs[0].shape, spec.inputs[1].shape)); }) {}

  void run(const KernelContext& context) override {
    const TeamSizeScope team(threads_);
    multiply(context);
  }

 private:
  static Operands operands(MatMulGeometry g) {
    if (g.b_batch.empty()) {
      g.m *= g.items();
      g.a_batch = g.batch = {};
    }
    return {.a = onednn::row_major(with_rank(g.a_batch, g.batch.size(), g.m, g.k)),
            .b = onednn::row_major(with_rank(g.b_batch, g.batch.size(), g.k, g.n)),
            .y = onednn::row_major(with_rank(g.batch, g.batch.size(), g.m, g.n))};
  }
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
