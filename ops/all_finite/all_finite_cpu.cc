#include <atomic>
#include <limits>

#include "ops/core/flat_range.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 16384;

template <typename T>
ONWARD_SIMD int count_non_finite(const T* x, int64_t n) {
  const T most = std::numeric_limits<T>::max();
  int found = 0;
  for (int64_t i = 0; i < n; ++i) found += !(x[i] <= most && x[i] >= -most);
  return found;
}

template <typename T>
class AllFiniteKernel final : public Kernel {
 public:
  explicit AllFiniteKernel(const KernelSpec& spec) {
    for (const Operand& operand : spec.inputs) elements_.append(operand.count());
  }

  void run(const KernelContext& context) override {
    std::atomic<bool> finite{true};
    parallel_for(elements_.size(), kGrain, [&](int64_t begin, int64_t end) {
      elements_.visit(begin, end, [&](std::size_t i, int64_t offset, int64_t n) {
        if (count_non_finite(context.in<T>(i) + offset, n) > 0) finite.store(false, std::memory_order_relaxed);
      });
    });
    *context.out<bool>(0) = finite.load();
  }

 private:
  FlatRange elements_;
};

template <typename T>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  return std::make_unique<AllFiniteKernel<T>>(spec);
}

}  // namespace

void register_all_finite_cpu(Registry& registry) {
  registry.add(KernelDef{.op = {kOnwardDomain, "AllFinite"}, .dtype = DType::kFloat32, .make = make<float>});
  registry.add(KernelDef{.op = {kOnwardDomain, "AllFinite"}, .dtype = DType::kFloat64, .make = make<double>});
}

}  // namespace onward
