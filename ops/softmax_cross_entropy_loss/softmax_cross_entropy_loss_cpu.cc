// Terms are computed in double, in parallel, into the workspace, and added in the order of the labels.
#include <algorithm>
#include <cmath>

#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/softmax/lines.h"
#include "ops/softmax_cross_entropy_loss/label_loss.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 4096;  // scores

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
    T* log_prob = spec_.has_output(1) ? context.out<T>(1) : nullptr;
    parallel_for(terms.count(), kGrain / std::max<int64_t>(terms.classes(), 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[i] = term(terms, i, context.in<T>(0), log_prob);
    });
    reduce_terms(spec_, terms, values, context.outputs[0], dtype_of<T>());
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

  KernelSpec spec_;
};

template <typename T>
std::unique_ptr<Kernel> make_loss(const KernelSpec& spec) {
  return std::make_unique<LossKernel<T>>(spec);
}

template <typename T>
void loss_grad(const KernelSpec& spec, const KernelContext& context) {
  const LossTerms terms(spec, context, spec.inputs[1].shape, 2, 3);
  const TermGradient gradient(spec, terms, context.inputs[0], spec.inputs[0].dtype);
  const T* log_prob = context.in<T>(1);
  T* dscores = context.out<T>(0);
  parallel_for(terms.count(), kGrain / std::max<int64_t>(terms.classes(), 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double weight = terms.weight(i), factor = weight == 0 ? 0 : weight * gradient[i];
      for (int64_t c = 0; c < terms.classes(); ++c) {
        const int64_t at = terms.first(i) + c * terms.stride();
        const double share = std::exp(static_cast<double>(log_prob[at])) - (c == terms[i] ? 1 : 0);
        dscores[at] = weight == 0 ? T(0) : static_cast<T>(share * factor);
      }
    }
  });
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(KernelDef{.op = {"", "SoftmaxCrossEntropyLoss"}, .dtype = dtype_of<T>(), .make = make_loss<T>});
  registry.add(KernelDef{.op = {kOnwardDomain, "SoftmaxCrossEntropyLossGrad"},
                         .dtype = dtype_of<T>(),
                         .make = make_function_kernel<loss_grad<T>>});
}

}  // namespace

void register_softmax_cross_entropy_loss_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
}

}  // namespace onward
