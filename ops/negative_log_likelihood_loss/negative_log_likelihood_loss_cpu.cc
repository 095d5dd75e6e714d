#include <algorithm>

#include "ops/core/registry.h"
#include "ops/softmax_cross_entropy_loss/label_loss.h"

namespace onward {
namespace {

template <typename T>
class LossKernel final : public Kernel {
 public:
  explicit LossKernel(const KernelSpec& spec) : spec_(spec) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(spec_.inputs[1].count()) * sizeof(double);
  }

  void run(const KernelContext& context) override {
    const LossTerms terms(spec_, context, spec_.inputs[0].shape, 1, 2);
    double* values = static_cast<double*>(context.workspace);
    for (int64_t i = 0; i < terms.count(); ++i) {
      const double weight = terms.weight(i);
      values[i] =
          weight == 0 ? 0 : -weight * static_cast<double>(context.in<T>(0)[terms.first(i) + terms[i] * terms.stride()]);
    }
    reduce_terms(spec_, terms, values, context.outputs[0], dtype_of<T>());
  }

 private:
  KernelSpec spec_;
};

template <typename T>
std::unique_ptr<Kernel> make_loss(const KernelSpec& spec) {
  return std::make_unique<LossKernel<T>>(spec);
}

template <typename T>
void loss_grad(const KernelSpec& spec, const KernelContext& context) {
  const LossTerms terms(spec, context, spec.outputs[0].shape, 1, 2);
  const TermGradient gradient(spec, terms, context.inputs[0], spec.inputs[0].dtype);
  T* dx = context.out<T>(0);
  std::fill_n(dx, spec.outputs[0].count(), T(0));
  for (int64_t i = 0; i < terms.count(); ++i) {
    const double weight = terms.weight(i);
    if (weight != 0) dx[terms.first(i) + terms[i] * terms.stride()] = static_cast<T>(-weight * gradient[i]);
  }
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(KernelDef{.op = {"", "NegativeLogLikelihoodLoss"}, .dtype = dtype_of<T>(), .make = make_loss<T>});
  registry.add(KernelDef{.op = {kOnwardDomain, "NegativeLogLikelihoodLossGrad"},
                         .dtype = dtype_of<T>(),
                         .make = make_function_kernel<loss_grad<T>>});
}

}  // namespace

void register_negative_log_likelihood_loss_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
}

}  // namespace onward
