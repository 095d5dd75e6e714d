#include "ops/softmax_cross_entropy_loss/device_label_loss.h"

namespace onward {
namespace {

template <typename T>
__global__ void __launch_bounds__(kLineThreads) terms_kernel(DeviceLabels<T> labels, const T* log_prob, double* terms) {
  const int64_t label = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (label >= labels.count) return;
  const double weight = labels.weight(label);
  const bool counts = weight != 0 && weight == weight;
  terms[label] =
      counts ? -weight * static_cast<double>(log_prob[labels.first(label) + labels[label] * labels.stride]) : weight;
}

// A warp a label.
template <typename T>
__global__ void __launch_bounds__(kLineThreads)
    loss_grad_kernel(DeviceLabels<T> labels, DeviceTermGradient<T> gradient, T* dx) {
  const int64_t label = warp_index();
  if (label >= labels.count) return;
  const double weight = labels.weight(label);
  for (int64_t c = lane_index(); c < labels.classes; c += kWarpLanes) {
    const bool own = weight != 0 && c == labels[label];
    dx[labels.first(label) + c * labels.stride] = own ? static_cast<T>(-weight * gradient[label]) : T(0);
  }
}

template <typename T>
void loss(const KernelSpec& spec, const KernelContext& context) {
  const DeviceLabels<T> labels(spec, context, spec.inputs[0].shape, 1, 2);
  const int64_t blocks = (labels.count + kLineThreads - 1) / kLineThreads;
  launch(terms_kernel<T>, {.grid = dim3(static_cast<unsigned>(blocks)), .block = dim3(kLineThreads)}, context.stream,
         labels, context.in<T>(0), static_cast<double*>(context.workspace));
  reduce_terms_on_device(spec, context, labels);
}

template <typename T>
void loss_grad(const KernelSpec& spec, const KernelContext& context) {
  const DeviceLabels<T> labels(spec, context, spec.outputs[0].shape, 1, 2);
  const DeviceTermGradient<T> gradient = device_term_gradient(spec, context, labels);
  launch(loss_grad_kernel<T>, warp_each(labels.count), context.stream, labels, gradient, context.out<T>(0));
}

}  // namespace

void register_negative_log_likelihood_loss_cuda(Registry& registry) {
  add_device_label_loss_kernels<float, loss<float>, loss_grad<float>>(registry, "NegativeLogLikelihoodLoss");
}

}  // namespace onward
