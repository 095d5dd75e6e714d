// The plain kernels, row-major, and the two small ops whose cost does not depend on the batch.
#include "ops/batch_norm_lowered/batch_norm_lowered.h"
#include "ops/batch_norm_lowered/channels_last_kernels.h"
#include "ops/batch_normalization/batch_normalization.h"
#include "ops/batch_normalization/channels.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

// Calls body(channel) for every channel, on the team.
template <typename Body>
void for_each_channel(const ChannelView& view, Body&& body) {
  parallel_for(view.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) body(c);
  });
}

template <typename T>
void statistics(const KernelSpec& spec, const KernelContext& context) {
  const ChannelView view(spec.inputs[0].shape);
  double *mean = context.out<double>(0), *m2 = mean + view.channels;
  for_each_channel(view, [&](int64_t c) {
    const Moments moments = channel_moments(context.in<T>(0), view, c);
    mean[c] = moments.mean;
    m2[c] = moments.m2;
  });
  m2[view.channels] = static_cast<double>(view.values_per_channel());
}

// The moments of one channel over all replicas, joined in rank order.
Moments joined_moments(const double* statistics, int64_t replicas, int64_t channels, int64_t channel) {
  Moments all;
  for (int64_t r = 0; r < replicas; ++r) {
    const double* row = statistics + r * (2 * channels + 1);
    all.merge({.count = row[2 * channels], .mean = row[channel], .m2 = row[channels + channel]});
  }
  return all;
}

template <typename T>
void finalize(const KernelSpec& spec, const KernelContext& context) {
  const int64_t channels = spec.outputs[0].count();
  const int64_t replicas = spec.inputs[0].shape.size() == 2 ? spec.inputs[0].shape[0] : 1;
  const double epsilon = batch_norm_epsilon(spec.attributes);
  const RunningRule rule{batch_norm_momentum(spec.attributes), batch_norm_unbiased(spec.attributes)};
  double count = 0;
  for (int64_t r = 0; r < replicas; ++r) count += context.in<double>(0)[(r + 1) * (2 * channels + 1) - 1];
  check_values_per_channel(count, spec.node);
  for (int64_t c = 0; c < channels; ++c) {
    const Moments batch = joined_moments(context.in<double>(0), replicas, channels, c);
    const double running_mean = context.in<T>(1)[c], running_variance = context.in<T>(2)[c];
    context.out<T>(0)[c] = static_cast<T>(batch.mean);
    context.out<T>(1)[c] = static_cast<T>(inverse_deviation(batch.population_variance(), epsilon));
    context.out<T>(2)[c] = static_cast<T>(rule.mean(running_mean, batch));
    context.out<T>(3)[c] = static_cast<T>(rule.variance(running_variance, batch));
  }
  *context.out<double>(4) = count;
}

template <typename T>
void apply(const KernelSpec& spec, const KernelContext& context) {
  const ChannelView view(spec.inputs[0].shape);
  const bool relu = spec.attributes.get_int("relu", 0) != 0;
  const T *x = context.in<T>(0), *residual = optional_input<T>(spec, context, 5);
  T* y = context.out<T>(0);
  for_each_channel(view, [&](int64_t c) {
    const double mean = context.in<T>(1)[c], bias = context.in<T>(4)[c];
    const double factor = static_cast<double>(context.in<T>(2)[c]) * context.in<T>(3)[c];
    view.for_each_run(c, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        double value = (static_cast<double>(x[i]) - mean) * factor + bias;
        if (residual) value += static_cast<double>(residual[i]);
        y[i] = static_cast<T>(relu && value < 0 ? 0 : value);
      }
    });
  });
}

// Whether the fused Relu let element i of a channel pass.
template <typename T>
struct MaskOf {
  ReluMask mask;
  double mean = 0, factor = 0, bias = 0;
  const T* y = nullptr;

  bool passes(double x, int64_t i) const {
    if (mask == ReluMask::kRecompute) return (x - mean) * factor + bias > 0;
    return mask == ReluMask::kNone || y[i] > T(0);
  }
};

template <typename T>
void grad_reduce(const KernelSpec& spec, const KernelContext& context) {
  const ChannelView view(spec.inputs[1].shape);
  const ReluMask mask = relu_mask(spec.attributes);
  const T *dy = context.in<T>(0), *x = context.in<T>(1);
  const T *y = optional_input<T>(spec, context, 6), *dy2 = optional_input<T>(spec, context, 7);
  double* sums = context.out<double>(0);
  T* kept = optional_output<T>(spec, context, 1);
  for_each_channel(view, [&](int64_t c) {
    const double mean = context.in<T>(2)[c], inv_std = context.in<T>(3)[c];
    MaskOf<T> relu{.mask = mask, .mean = mean, .y = y};
    if (mask == ReluMask::kRecompute) relu.factor = inv_std * context.in<T>(4)[c], relu.bias = context.in<T>(5)[c];
    double sum = 0, sum_xhat = 0;
    view.for_each_run(c, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const double value = x[i];
        double g = static_cast<double>(dy[i]) + (dy2 ? static_cast<double>(dy2[i]) : 0);
        if (!relu.passes(value, i)) g = 0;
        sum += g;
        sum_xhat += g * (value - mean) * inv_std;
        if (kept) kept[i] = static_cast<T>(g);
      }
    });
    sums[c] = sum;
    sums[view.channels + c] = sum_xhat;
  });
}

template <typename T>
void grad_apply(const KernelSpec& spec, const KernelContext& context) {
  const ChannelView view(spec.inputs[1].shape);
  const ReluMask mask = relu_mask(spec.attributes);
  const T *dy = context.in<T>(0), *x = context.in<T>(1);
  const double *sums = context.in<double>(5), count = *context.in<double>(6);
  T* dx = context.out<T>(0);
  for_each_channel(view, [&](int64_t c) {
    const double mean = context.in<T>(2)[c], inv_std = context.in<T>(3)[c], factor = inv_std * context.in<T>(4)[c];
    MaskOf<T> relu{.mask = mask, .mean = mean, .factor = factor};
    if (mask == ReluMask::kRecompute) relu.bias = context.in<T>(7)[c];
    const double mean_g = sums[c] / count, mean_g_xhat = sums[view.channels + c] / count;
    view.for_each_run(c, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const double value = x[i], g = relu.passes(value, i) ? static_cast<double>(dy[i]) : 0;
        dx[i] = static_cast<T>(factor * (g - mean_g - (value - mean) * inv_std * mean_g_xhat));
      }
    });
  });
}

template <typename T>
void grad_parameters(const KernelSpec& spec, const KernelContext& context) {
  const int64_t channels = spec.outputs[0].count();
  const double* sums = context.in<double>(0);
  for (int64_t c = 0; c < channels; ++c) {
    context.out<T>(0)[c] = static_cast<T>(sums[channels + c]);
    context.out<T>(1)[c] = static_cast<T>(sums[c]);
  }
}

template <typename T>
void add_plain(Registry& registry) {
  constexpr DType kType = dtype_of<T>();
  registry.add(KernelDef{.op = kBatchNormStatistics, .dtype = kType, .make = make_function_kernel<statistics<T>>});
  registry.add(KernelDef{.op = kBatchNormApply, .dtype = kType, .make = make_function_kernel<apply<T>>});
  registry.add(KernelDef{.op = kBatchNormGradReduce, .dtype = kType, .make = make_function_kernel<grad_reduce<T>>});
  registry.add(KernelDef{.op = kBatchNormGradApply, .dtype = kType, .make = make_function_kernel<grad_apply<T>>});
}

// Their first input is float64 whatever the type of the program: registered under it, chosen by their outputs.
template <typename T>
void add_small(Registry& registry) {
  registry.add(KernelDef{.op = kBatchNormFinalize,
                         .dtype = DType::kFloat64,
                         .accepts = first_output_is<T>,
                         .make = make_function_kernel<finalize<T>>});
  registry.add(KernelDef{.op = kBatchNormGradParameters,
                         .dtype = DType::kFloat64,
                         .accepts = first_output_is<T>,
                         .make = make_function_kernel<grad_parameters<T>>});
}

}  // namespace

void register_batch_norm_lowered_cpu(Registry& registry) {
  add_plain<float>(registry);
  add_plain<double>(registry);
  add_small<float>(registry);
  add_small<double>(registry);
  add_channels_last_kernels(registry);
}

}  // namespace onward
