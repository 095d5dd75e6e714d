// oneDNN 3: a primitive descriptor is made directly, the engine first and the attributes last.
#include "ops/core/onednn.h"

namespace onward::onednn {
namespace {

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

}  // namespace

dnnl::convolution_forward::primitive_desc convolution_forward(const Window& window, const dnnl::memory::desc& x,
                                                              const dnnl::memory::desc& w,
                                                              const dnnl::memory::desc* bias,
                                                              const dnnl::memory::desc& y) {
  constexpr auto kForward = dnnl::prop_kind::forward_training;
  if (!bias) {
    return {engine(),          kForward,        kDirect,          x, w, y, window.strides, gaps(window),
            window.pads_begin, window.pads_end, user_scratchpad()};
  }
  return {engine(),          kForward,        kDirect,          x, w, *bias, y, window.strides, gaps(window),
          window.pads_begin, window.pads_end, user_scratchpad()};
}

dnnl::convolution_backward_data::primitive_desc convolution_grad_input(
    const Window& window, const dnnl::memory::desc& dx, const dnnl::memory::desc& w, const dnnl::memory::desc& dy,
    const dnnl::convolution_forward::primitive_desc& forward) {
  return {engine(), kDirect,          dx, w, dy, window.strides, gaps(window), window.pads_begin, window.pads_end,
          forward,  user_scratchpad()};
}

dnnl::convolution_backward_weights::primitive_desc convolution_grad_weight(
    const Window& window, const dnnl::memory::desc& x, const dnnl::memory::desc& dw, const dnnl::memory::desc& dy,
    const dnnl::convolution_forward::primitive_desc& forward) {
  return {engine(), kDirect,          x, dw, dy, window.strides, gaps(window), window.pads_begin, window.pads_end,
          forward,  user_scratchpad()};
}

dnnl::matmul::primitive_desc matrix_product(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                            const dnnl::memory::desc& y, float alpha, bool accumulate) {
  dnnl::post_ops after;
  if (alpha != 1) after.append_eltwise(dnnl::algorithm::eltwise_linear, alpha, 0);
  if (accumulate) after.append_sum(1);
  dnnl::primitive_attr attr = user_scratchpad();
  attr.set_post_ops(after);
  return {engine(), a, b, y, attr};
}

}  // namespace onward::onednn
