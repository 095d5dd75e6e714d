#pragma once
#include <string>

#include "ops/core/kernel.h"
#include "ops/core/onednn.h"
#include "ops/core/parallel.h"

namespace onward {

// What Gemm and MatMul share: one matrix product a * b -> y by oneDNN, whose operands the op describes.
class OnednnProduct : public Kernel {
 public:
  std::size_t workspace_bytes() const override { return step_.scratchpad_bytes(); }
  std::string describe() const override { return "onednn " + step_.implementation(); }

 protected:
  struct Operands {
    dnnl::memory::desc a, b, y;
    float alpha = 1;
    bool accumulate = false;  // onto what y holds
  };

  // `describe` returns the operands; the library's errors name the node.
  template <typename Describe>
  OnednnProduct(const KernelSpec& spec, Describe describe) : threads_(spec.threads) {
    onednn::prepare(spec.node, threads_, [&] {
      const Operands o = describe();
      const auto product = onednn::matrix_product(o.a, o.b, o.y, o.alpha, o.accumulate);
      step_ = onednn::Step(product, dnnl::matmul(product),
                           {{DNNL_ARG_SRC, o.a}, {DNNL_ARG_WEIGHTS, o.b}, {DNNL_ARG_DST, o.y}});
    });
  }

  void multiply(const KernelContext& context) {
    step_.run({context.inputs[0], context.inputs[1], context.outputs[0]}, context.workspace);
  }

  int threads_;

 private:
  onednn::Step step_;
};

}  // namespace onward
