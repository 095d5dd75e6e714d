#include <algorithm>
#include <cmath>

#include "ops/core/flat_range.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 16384;

// In double, so that neither the length nor the size of the numbers matters; in lanes, so that it vectorises.
template <typename T>
ONWARD_SIMD double sum_of_squares(const T* x, int64_t n) {
  constexpr int64_t kLanes = 32;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += static_cast<double>(x[i + k]) * static_cast<double>(x[i + k]);
  }
  double sum = 0;
  for (int64_t k = 0; k < kLanes; ++k) sum += lanes[k];
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

template <typename T>
ONWARD_SIMD void scale(const T* x, T factor, T* y, int64_t n) {
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

// Parts are added in order; how many there are depends on the number of threads and of elements only.
template <typename T>
class GlobalNormKernel final : public Kernel {
 public:
  explicit GlobalNormKernel(const KernelSpec& spec) {
    for (const Operand& operand : spec.inputs) elements_.append(operand.count());
    parts_ = std::clamp<int64_t>(elements_.size() / kGrain, 1, std::max(1, spec.threads));
  }

  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(parts_) * sizeof(double); }

  void run(const KernelContext& context) override {
    double* sums = static_cast<double*>(context.workspace);
    parallel_for(parts_, 1, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) sums[p] = part_sum(context, p);
    });
    double sum = 0;
    for (int64_t p = 0; p < parts_; ++p) sum += sums[p];
    *context.out<double>(0) = std::sqrt(sum);
  }

 private:
  double part_sum(const KernelContext& context, int64_t part) const {
    double sum = 0;
    elements_.visit(
        elements_.size() * part / parts_, elements_.size() * (part + 1) / parts_,
        [&](std::size_t i, int64_t offset, int64_t n) { sum += sum_of_squares(context.in<T>(i) + offset, n); });
    return sum;
  }

  FlatRange elements_;
  int64_t parts_;
};

template <typename T>
class ClipByNormKernel final : public Kernel {
 public:
  explicit ClipByNormKernel(const KernelSpec& spec) : limit_(spec.attributes.get_double("limit")) {
    for (const Operand& operand : spec.outputs) elements_.append(operand.count());
  }

  void run(const KernelContext& context) override {
    const double ratio = limit_ / (*context.in<double>(0) + 1e-6);
    const T factor = static_cast<T>(ratio > 1 ? 1 : ratio);  // NaN stays NaN
    parallel_for(elements_.size(), kGrain, [&](int64_t begin, int64_t end) {
      elements_.visit(begin, end, [&](std::size_t i, int64_t offset, int64_t n) {
        scale(context.in<T>(i + 1) + offset, factor, context.out<T>(i) + offset, n);
      });
    });
  }

 private:
  double limit_;
  FlatRange elements_;
};

template <typename K>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  return std::make_unique<K>(spec);
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(
      KernelDef{.op = {kOnwardDomain, "GlobalNorm"}, .dtype = dtype_of<T>(), .make = make<GlobalNormKernel<T>>});
  // Its first input, the norm, is float64 whatever the tensors: registered under it, chosen by the outputs.
  registry.add(KernelDef{.op = {kOnwardDomain, "ClipByNorm"},
                         .dtype = DType::kFloat64,
                         .accepts = first_output_is<T>,
                         .make = make<ClipByNormKernel<T>>});
}

}  // namespace

void register_gradient_norm_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
}

}  // namespace onward
