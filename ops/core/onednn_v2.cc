// oneDNN 2: a primitive is described by an operation descriptor, from which the primitive descriptor is made.
#include "ops/core/onednn.h"

namespace onward::onednn {
namespace {

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

}  // namespace

dnnl::convolution_forward::primitive_desc convolution_forward(const Window& window, const dnnl::memory::desc& x,
                                                              const dnnl::memory::desc& w,
                                                              const dnnl::memory::desc* bias,
                                                              const dnnl::memory::desc& y) {
  const dnnl::convolution_forward::desc operation(dnnl::prop_kind::forward_training, kDirect, x, w,
                                                  bias ? *bias : dnnl::memory::desc(), y, window.strides, gaps(window),
                                                  window.pads_begin, window.pads_end);
  return {operation, user_scratchpad(), engine()};
}

dnnl::convolution_backward_data::primitive_desc convolution_grad_input(
    const Window& window, const dnnl::memory::desc& dx, const dnnl::memory::desc& w, const dnnl::memory::desc& dy,
    const dnnl::convolution_forward::primitive_desc& forward) {
  const dnnl::convolution_backward_data::desc operation(kDirect, dx, w, dy, window.strides, gaps(window),
                                                        window.pads_begin, window.pads_end);
  return {operation, user_scratchpad(), engine(), forward};
}

dnnl::convolution_backward_weights::primitive_desc convolution_grad_weight(
    const Window& window, const dnnl::memory::desc& x, const dnnl::memory::desc& dw, const dnnl::memory::desc& dy,
    const dnnl::convolution_forward::primitive_desc& forward) {
  const dnnl::convolution_backward_weights::desc operation(kDirect, x, dw, dy, window.strides, gaps(window),
                                                           window.pads_begin, window.pads_end);
  return {operation, user_scratchpad(), engine(), forward};
}

dnnl::matmul::primitive_desc matrix_product(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                            const dnnl::memory::desc& y, float alpha, bool accumulate) {
  dnnl::post_ops after;
  if (alpha != 1) after.append_eltwise(1, dnnl::algorithm::eltwise_linear, alpha, 0);
  if (accumulate) after.append_sum(1);
  dnnl::primitive_attr attr = user_scratchpad();
  attr.set_post_ops(after);
  return {dnnl::matmul::desc(a, b, y), attr, engine()};
}

}  // namespace onward::onednn
