#pragma once
#include <algorithm>

#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/softmax_cross_entropy_loss/label_loss.h"

namespace onward {

// Calls body(label) for every label, in parallel where there are many scores.
template <typename Body>
void for_each_label(const LossTerms& terms, Body&& body) {
  constexpr int64_t kGrain = 4096;  // scores
  parallel_for(terms.count(), kGrain / std::max<int64_t>(terms.classes(), 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t label = begin; label < end; ++label) body(label);
  });
}

// A loss (scores, labels, weights?) of type T: terms are computed in double, in parallel, into the workspace, and added
// in the order of the labels.
template <typename T>
class LabelLossKernel : public Kernel {
 public:
  explicit LabelLossKernel(const KernelSpec& spec) : spec_(spec) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(spec_.inputs[1].count()) * sizeof(double);
  }

 protected:
  // term(terms, label) is the weighted term of a label.
  template <typename Term>
  void reduce(const KernelContext& context, Term&& term) const {
    const LossTerms terms(spec_, context, spec_.inputs[0].shape, 1, 2);
    double* values = static_cast<double*>(context.workspace);
    for_each_label(terms, [&](int64_t label) { values[label] = term(terms, label); });
    reduce_terms(spec_, terms, values, context.outputs[0], dtype_of<T>());
  }

  KernelSpec spec_;
};

// Registers the kernels of a loss and of its gradient for one type.
template <typename T, typename Loss, KernelFunction kGradient>
void add_label_loss_kernels(Registry& registry, const std::string& op) {
  registry.add(
      KernelDef{.op = {"", op}, .dtype = dtype_of<T>(), .make = [](const KernelSpec& spec) -> std::unique_ptr<Kernel> {
                  return std::make_unique<Loss>(spec);
                }});
  registry.add(
      KernelDef{.op = {kOnwardDomain, op + "Grad"}, .dtype = dtype_of<T>(), .make = make_function_kernel<kGradient>});
}

}  // namespace onward
