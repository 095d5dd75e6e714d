#include <cmath>

#include "ops/core/registry.h"
#include "ops/softmax/lines.h"
#include "ops/softmax_cross_entropy_loss/label_loss.h"
#include "ops/softmax_cross_entropy_loss/label_loss_kernel.h"

namespace onward {
namespace {

template <typename T>
class LossKernel final : public LabelLossKernel<T> {
 public:
  using LabelLossKernel<T>::LabelLossKernel;

  void run(const KernelContext& context) override {
    const T* scores = context.in<T>(0);
    T* log_prob = optional_output<T>(this->spec_, context, 1);
    this->reduce(context, [&](const LossTerms& terms, int64_t label) { return term(terms, label, scores, log_prob); });
  }

 private:
  static double term(const LossTerms& terms, int64_t label, const T* scores, T* log_prob) {
    const int64_t first = terms.first(label), stride = terms.stride();
    const LineSum line = exponential_sum(scores + first, terms.classes(), stride);
    const double log_sum = std::log(line.sum);
    const auto log_of = [&](int64_t at) { return static_cast<double>(scores[at]) - line.largest - log_sum; };
    if (log_prob) {
      for (int64_t c = 0; c < terms.classes(); ++c)
        log_prob[first + c * stride] = static_cast<T>(log_of(first + c * stride));
    }
    const double weight = terms.weight(label);
    return weight == 0 ? 0 : -weight * log_of(first + terms[label] * stride);
  }
};

template <typename T>
void loss_grad(const KernelSpec& spec, const KernelContext& context) {
  const LossTerms terms(spec, context, spec.inputs[1].shape, 2, 3);
  const TermGradient gradient(spec, terms, context.inputs[0], spec.inputs[0].dtype);
  const T* log_prob = context.in<T>(1);
  T* dscores = context.out<T>(0);
  for_each_label(terms, [&](int64_t label) {
    const double weight = terms.weight(label), factor = weight == 0 ? 0 : weight * gradient[label];
    for (int64_t c = 0; c < terms.classes(); ++c) {
      const int64_t at = terms.first(label) + c * terms.stride();
      const double share = std::exp(static_cast<double>(log_prob[at])) - (c == terms[label] ? 1 : 0);
      dscores[at] = weight == 0 ? T(0) : static_cast<T>(share * factor);
    }
  });
}

}  // namespace

void register_softmax_cross_entropy_loss_cpu(Registry& registry) {
  constexpr const char* kOp = "SoftmaxCrossEntropyLoss";
  add_label_loss_kernels<float, LossKernel<float>, loss_grad<float>>(registry, kOp);
  add_label_loss_kernels<double, LossKernel<double>, loss_grad<double>>(registry, kOp);
}

}  // namespace onward
