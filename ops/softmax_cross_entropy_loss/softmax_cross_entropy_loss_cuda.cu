#include "ops/softmax_cross_entropy_loss/device_label_loss.h"

namespace onward {
namespace {

// A warp a label.
template <typename T>
__global__ void __launch_bounds__(kLineThreads)
    terms_kernel(DeviceLabels<T> labels, const T* scores, T* log_prob, double* terms) {
  const int64_t label = warp_index();
  if (label >= labels.count) return;
  const int64_t first = labels.first(label), stride = labels.stride;
  const DeviceLineSum line = exponential_sum_of_warp(scores + first, labels.classes, stride);
  const float log_sum = logf(line.sum);
  if (log_prob) {
    for (int64_t c = lane_index(); c < labels.classes; c += kWarpLanes) {
      const int64_t at = first + c * stride;
      log_prob[at] = static_cast<T>(static_cast<float>(scores[at]) - line.largest - log_sum);
    }
  }
  if (lane_index() != 0) return;
  const double weight = labels.weight(label);
  if (weight == 0 || weight != weight) {
    terms[label] = weight;
    return;
  }
  const float own = static_cast<float>(scores[first + labels[label] * stride]);
  terms[label] = -weight * (static_cast<double>(own) - line.largest - log_sum);
}

template <typename T>
__global__ void __launch_bounds__(kLineThreads)
    loss_grad_kernel(DeviceLabels<T> labels, DeviceTermGradient<T> gradient, const T* log_prob, T* dscores) {
  const int64_t label = warp_index();
  if (label >= labels.count) return;
  const double weight = labels.weight(label);
  const float factor = weight == 0 ? 0.0f : static_cast<float>(weight * gradient[label]);
  for (int64_t c = lane_index(); c < labels.classes; c += kWarpLanes) {
    const int64_t at = labels.first(label) + c * labels.stride;
    const float share = expf(static_cast<float>(log_prob[at])) - (c == labels[label] ? 1.0f : 0.0f);
    dscores[at] = weight == 0 ? T(0) : static_cast<T>(share * factor);
  }
}

template <typename T>
void loss(const KernelSpec& spec, const KernelContext& context) {
  const DeviceLabels<T> labels(spec, context, spec.inputs[0].shape, 1, 2);
  launch(terms_kernel<T>, warp_each(labels.count), context.stream, labels, context.in<T>(0),
         optional_output<T>(spec, context, 1), static_cast<double*>(context.workspace));
  reduce_terms_on_device(spec, context, labels);
}

template <typename T>
void loss_grad(const KernelSpec& spec, const KernelContext& context) {
  const DeviceLabels<T> labels(spec, context, spec.inputs[1].shape, 2, 3);
  const DeviceTermGradient<T> gradient = device_term_gradient(spec, context, labels);
  launch(loss_grad_kernel<T>, warp_each(labels.count), context.stream, labels, gradient, context.in<T>(1),
         context.out<T>(0));
}

}  // namespace

void register_softmax_cross_entropy_loss_cuda(Registry& registry) {
  add_device_label_loss_kernels<float, loss<float>, loss_grad<float>>(registry, "SoftmaxCrossEntropyLoss");
}

}  // namespace onward
