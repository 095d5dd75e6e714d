// The plain kernels of whole batch normalization, row-major. Programs that train are lowered to the ops of
// ops/batch_norm_lowered; inference in fp32 has a fast kernel of its own.
#include "ops/batch_norm_lowered/normalise_rows.h"
#include "ops/batch_normalization/batch_normalization.h"
#include "ops/batch_normalization/channels.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

// y = (x - mean) * factor + offset for one channel.
template <typename T>
void normalise_channel(const T* x, T* y, const ChannelView& view, int64_t channel, double mean, double factor,
                       double offset) {
  view.for_each_run(channel, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) y[i] = static_cast<T>((static_cast<double>(x[i]) - mean) * factor + offset);
  });
}

template <typename T>
void set(T* array, int64_t i, double value) {
  if (array) array[i] = static_cast<T>(value);
}

template <typename T>
void run_training(const KernelSpec& spec, const KernelContext& context) {
  const ChannelView view(spec.inputs[0].shape);
  const double epsilon = batch_norm_epsilon(spec.attributes);
  const RunningRule rule{batch_norm_momentum(spec.attributes), batch_norm_unbiased(spec.attributes)};
  check_values_per_channel(static_cast<double>(view.values_per_channel()), spec.node);
  const auto out = [&](std::size_t i) { return optional_output<T>(spec, context, i); };
  const T *x = context.in<T>(0), *scale = context.in<T>(1), *bias = context.in<T>(2);
  const T *mean = context.in<T>(3), *variance = context.in<T>(4);
  parallel_for(view.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const Moments batch = channel_moments(x, view, c);
      const double inv_std = inverse_deviation(batch.population_variance(), epsilon);
      normalise_channel(x, out(0), view, c, batch.mean, inv_std * scale[c], bias[c]);
      set(out(1), c, rule.mean(mean[c], batch));
      set(out(2), c, rule.variance(variance[c], batch));
      set(out(3), c, batch.mean);
      set(out(4), c, inv_std);
    }
  });
}

template <typename T>
void run_inference(const KernelSpec& spec, const KernelContext& context) {
  const ChannelView view(spec.inputs[0].shape);
  const double epsilon = batch_norm_epsilon(spec.attributes);
  const T *x = context.in<T>(0), *scale = context.in<T>(1), *bias = context.in<T>(2);
  const T *mean = context.in<T>(3), *variance = context.in<T>(4);
  parallel_for(view.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      normalise_channel(x, context.out<T>(0), view, c, mean[c], inverse_deviation(variance[c], epsilon) * scale[c],
                        bias[c]);
    }
  });
}

template <typename T>
void run_forward(const KernelSpec& spec, const KernelContext& context) {
  spec.attributes.get_int("training_mode", 0) != 0 ? run_training<T>(spec, context) : run_inference<T>(spec, context);
}

// Sums over one channel of dy and of dy * xhat.
struct GradientSums {
  double g = 0;
  double g_xhat = 0;
};

template <typename T>
GradientSums gradient_sums(const T* dy, const T* x, const ChannelView& view, int64_t channel, double mean,
                           double inv_std) {
  GradientSums sums;
  view.for_each_run(channel, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      sums.g += static_cast<double>(dy[i]);
      sums.g_xhat += static_cast<double>(dy[i]) * (static_cast<double>(x[i]) - mean) * inv_std;
    }
  });
  return sums;
}

// Ioffe, Szegedy: Batch Normalization, 2015, section 3: the batch's mean and variance depend on x too.
template <typename T>
void run_training_grad(const KernelSpec& spec, const KernelContext& context) {
  const ChannelView view(spec.inputs[1].shape);
  const auto count = static_cast<double>(view.values_per_channel());
  const T *dy = context.in<T>(0), *x = context.in<T>(1), *scale = context.in<T>(2);
  const T *mean = context.in<T>(3), *inv_std = context.in<T>(4);
  T* dx = context.out<T>(0);
  parallel_for(view.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const double m = mean[c], s = inv_std[c], factor = scale[c] * s;
      const GradientSums sums = gradient_sums(dy, x, view, c, m, s);
      view.for_each_run(c, [&](int64_t i, int64_t run_end) {
        for (; i < run_end; ++i) {
          const double xhat = (static_cast<double>(x[i]) - m) * s;
          dx[i] = static_cast<T>(factor * (static_cast<double>(dy[i]) - sums.g / count - xhat * sums.g_xhat / count));
        }
      });
      context.out<T>(1)[c] = static_cast<T>(sums.g_xhat);
      context.out<T>(2)[c] = static_cast<T>(sums.g);
    }
  });
}

template <typename T>
void run_inference_grad(const KernelSpec& spec, const KernelContext& context) {
  const ChannelView view(spec.inputs[1].shape);
  const double epsilon = batch_norm_epsilon(spec.attributes);
  const T *dy = context.in<T>(0), *x = context.in<T>(1), *scale = context.in<T>(2);
  const T *mean = context.in<T>(3), *variance = context.in<T>(4);
  T* dx = context.out<T>(0);
  parallel_for(view.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const double inv_std = inverse_deviation(variance[c], epsilon), factor = scale[c] * inv_std;
      const GradientSums sums = gradient_sums(dy, x, view, c, mean[c], inv_std);
      view.for_each_run(c, [&](int64_t i, int64_t run_end) {
        for (; i < run_end; ++i) dx[i] = static_cast<T>(static_cast<double>(dy[i]) * factor);
      });
      context.out<T>(1)[c] = static_cast<T>(sums.g_xhat);
      context.out<T>(2)[c] = static_cast<T>(sums.g);
    }
  });
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(
      KernelDef{.op = kBatchNormalization, .dtype = dtype_of<T>(), .make = make_function_kernel<run_forward<T>>});
  registry.add(KernelDef{
      .op = kBatchNormalizationGrad, .dtype = dtype_of<T>(), .make = make_function_kernel<run_training_grad<T>>});
  registry.add(KernelDef{.op = kBatchNormalizationInferenceGrad,
                         .dtype = dtype_of<T>(),
                         .make = make_function_kernel<run_inference_grad<T>>});
}

// The fp32 kernel of inference: one vectorised pass, channels-last.
class InferenceKernel final : public Kernel {
 public:
  explicit InferenceKernel(const KernelSpec& spec)
      : rows_(spec.inputs[0].shape), epsilon_(batch_norm_epsilon(spec.attributes)) {}

  std::size_t workspace_bytes() const override { return rows_.workspace_bytes(); }

  void run(const KernelContext& context) override {
    const float *scale = context.in<float>(1), *bias = context.in<float>(2);
    const float *mean = context.in<float>(3), *variance = context.in<float>(4);
    const NormaliseRows::Lanes lanes = rows_.lanes(context.workspace);
    for (int64_t c = 0; c < rows_.channels(); ++c) {
      lanes.mean[c] = mean[c];
      lanes.factor[c] = static_cast<float>(inverse_deviation(variance[c], epsilon_) * scale[c]);
      lanes.bias[c] = bias[c];
    }
    rows_.run(lanes, context.in<float>(0), nullptr, false, context.out<float>(0));
  }

  std::string describe() const override { return "channels-last"; }

 private:
  NormaliseRows rows_;
  double epsilon_;
};

bool is_inference(const KernelSpec& spec) { return spec.attributes.get_int("training_mode", 0) == 0; }

std::unique_ptr<Kernel> make_inference(const KernelSpec& spec) { return std::make_unique<InferenceKernel>(spec); }

}  // namespace

void register_batch_normalization_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
  const OperandLayout image = OperandLayout::kChannelsLast, vector = OperandLayout::kRowMajor;
  registry.add(KernelDef{.op = kBatchNormalization,
                         .priority = 10,
                         .input_layouts = {image, vector},
                         .output_layouts = {image, vector},
                         .accepts = is_inference,
                         .make = make_inference});
}

}  // namespace onward
