// MatMul in fp64 through BLAS: the rows of all items are cut over the team, each thread multiplies its part of each
// item.
#include <algorithm>

#include "ops/core/blas.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/matmul/geometry.h"

namespace onward {
namespace {

class BlasMatMul final : public Kernel {
 public:
  explicit BlasMatMul(const KernelSpec& spec) : geometry_(matmul_geometry(spec.inputs[0].shape, spec.inputs[1].shape)) {
    blas::use_one_thread();
  }

  std::string describe() const override { return "blas"; }

  void run(const KernelContext& context) override {
    const int64_t m = geometry_.m;
    parallel_for(geometry_.items() * m, 8, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end;) {
        const int64_t stop = std::min(end, (row / m + 1) * m);
        item_rows(context, row, stop);
        row = stop;
      }
    });
  }

 private:
  // Rows [begin, end) of the result, all of one item.
  void item_rows(const KernelContext& context, int64_t begin, int64_t end) const {
    const auto& g = geometry_;
    const auto item = static_cast<std::size_t>(begin / g.m);
    const double* a = context.in<double>(0) + g.a_offsets[item] + begin % g.m * g.k;
    blas::product(false, false, end - begin, g.n, g.k, 1, a, g.k, context.in<double>(1) + g.b_offsets[item], g.n, 0,
                  context.out<double>(0) + begin * g.n, g.n);
  }

  MatMulGeometry geometry_;
};

bool accepts(const KernelSpec& spec) {
  const MatMulGeometry g = matmul_geometry(spec.inputs[0].shape, spec.inputs[1].shape);
  return g.items() > 0 && g.m > 0 && g.n > 0 && g.k > 0;
}

}  // namespace

void register_matmul_blas(Registry& registry) {
  registry.add(KernelDef{
      .op = {"", "MatMul"},
      .dtype = DType::kFloat64,
      .priority = 10,
      .accepts = accepts,
      .make = [](const KernelSpec& spec) -> std::unique_ptr<Kernel> { return std::make_unique<BlasMatMul>(spec); }});
}

}  // namespace onward
