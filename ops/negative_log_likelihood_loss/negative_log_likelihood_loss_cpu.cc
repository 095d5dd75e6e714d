#include <algorithm>

#include "ops/core/registry.h"
#include "ops/softmax_cross_entropy_loss/label_loss.h"
#include "ops/softmax_cross_entropy_loss/label_loss_kernel.h"

namespace onward {
namespace {

template <typename T>
class LossKernel final : public LabelLossKernel<T> {
 public:
  using LabelLossKernel<T>::LabelLossKernel;

  void run(const KernelContext& context) override {
    const T* log_prob = context.in<T>(0);
    this->reduce(context, [&](const LossTerms& terms, int64_t label) {
      const double weight = terms.weight(label);
      return weight == 0 ? 0
                         : -weight * static_cast<double>(log_prob[terms.first(label) + terms[label] * terms.stride()]);
    });
  }
};

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

}  // namespace

void register_negative_log_likelihood_loss_cpu(Registry& registry) {
  constexpr const char* kOp = "NegativeLogLikelihoodLoss";
  add_label_loss_kernels<float, LossKernel<float>, loss_grad<float>>(registry, kOp);
  add_label_loss_kernels<double, LossKernel<double>, loss_grad<double>>(registry, kOp);
}

}  // namespace onward
