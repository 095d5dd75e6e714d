// Channels-last. Statistics: groups of rows are joined in registers in two passes (mean, then deviations from it),
// groups by the rule of Chan, Golub and LeVeque in double, so that nothing cancels far from zero. Everything else is
// one pass over the data in the type of accumulation.
#include "ops/batch_norm_lowered/batch_norm_lowered.h"
#include "ops/batch_normalization/batch_normalization.h"
#include "ops/core/cuda/columns.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

constexpr int kGroup = 8;  // rows whose loads are in flight together

struct DeviceMoments {
  double count, mean, m2;

  __device__ void join(const DeviceMoments& other) {
    if (other.count == 0) return;
    const double total = count + other.count, delta = other.mean - mean, share = other.count / total;
    mean += delta * share;
    m2 += other.m2 + delta * delta * (count * share);
    count = total;
  }
};

// A group of rows of one lane in registers: calls read(k, row) for its members, then returns how many there are.
template <typename Read>
__device__ int read_group(int64_t row, int64_t end, int64_t step, Read&& read) {
  int members = 0;
#pragma unroll
  for (int k = 0; k < kGroup; ++k) {
    const int64_t at = row + k * step;
    if (at < end) {
      read(k, at);
      members = k + 1;
    }
  }
  return members;
}

template <typename T, int kLanes>
struct MomentsSource {
  using State = DeviceMoments;
  const T* x;
  int64_t channels;

  __device__ void add(State (&own)[kLanes], int64_t lane, int64_t first, int64_t end, int64_t step) const {
    for (int64_t row = first; row < end; row += kGroup * step) {
      Pack<T, kLanes> values[kGroup] = {};
      const int members = read_group(
          row, end, step, [&](int k, int64_t at) { values[k] = load_pack<kLanes>(x + at * channels + lane * kLanes); });
#pragma unroll
      for (int c = 0; c < kLanes; ++c) join_group(own[c], values, c, members);
    }
  }

 private:
  static __device__ void join_group(State& own, const Pack<T, kLanes> (&values)[kGroup], int c, int members) {
    // Relative to the group's first value, so that a mean far from zero costs no digits.
    const float pivot = static_cast<float>(values[0].at[c]);
    float sum = 0;
#pragma unroll
    for (int k = 1; k < kGroup; ++k) sum += k < members ? static_cast<float>(values[k].at[c]) - pivot : 0.0f;
    const float mean = sum / static_cast<float>(members);
    float m2 = 0;
#pragma unroll
    for (int k = 0; k < kGroup; ++k) {
      const float deviation = (static_cast<float>(values[k].at[c]) - pivot) - mean;
      m2 += k < members ? deviation * deviation : 0.0f;
    }
    own.join({static_cast<double>(members), static_cast<double>(pivot) + mean, m2});
  }
};

struct WriteMoments {
  double* statistics;  // mean[C], m2[C], count
  int64_t channels;

  __device__ void operator()(int64_t channel, const DeviceMoments& moments) const {
    statistics[channel] = moments.mean;
    statistics[channels + channel] = moments.m2;
    if (channel == 0) statistics[2 * channels] = moments.count;
  }
};

template <typename T, int kLanes>
class StatisticsKernel final : public Kernel {
 public:
  explicit StatisticsKernel(const KernelSpec& spec) : columns_(spec.inputs[0].shape), reduction_(columns_) {}
  std::size_t workspace_bytes() const override { return reduction_.workspace_bytes(); }
  std::string describe() const override { return "channels-last"; }
  void run(const KernelContext& context) override {
    reduction_.run(MomentsSource<T, kLanes>{context.in<T>(0), columns_.channels},
                   WriteMoments{context.out<double>(0), columns_.channels}, context.workspace, context.stream);
  }

 private:
  Columns columns_;
  ColumnReduction<kLanes, MomentsSource<T, kLanes>> reduction_;
};

// ---- finalize

struct RunningFollows {
  double momentum;
  bool unbiased;

  __device__ double blend(double running, double batch) const { return running * momentum + batch * (1 - momentum); }
};

// One thread a channel joins the replicas in rank order. One value per channel has no variance: its outputs are NaN,
// which ends the run; the CPU refuses it with a message.
template <typename T>
__global__ void finalize_kernel(const double* statistics, int64_t replicas, int64_t channels, double epsilon,
                                RunningFollows rule, const T* running_mean, const T* running_variance, T* mean,
                                T* inv_std, T* next_mean, T* next_variance, double* count) {
  const int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  DeviceMoments batch = {};
  for (int64_t r = 0; r < replicas; ++r) {
    const double* row = statistics + r * (2 * channels + 1);
    batch.join({row[2 * channels], row[c], row[channels + c]});
  }
  const double none = batch.count == 1 ? static_cast<double>(NAN) : 0;
  const double variance = (batch.count > 0 ? batch.m2 / batch.count : 0) + none;
  const double spread = rule.unbiased ? batch.m2 / (batch.count - 1) : variance;
  const double old_mean = running_mean[c], old_variance = running_variance[c];
  mean[c] = static_cast<T>(batch.mean);
  inv_std[c] = static_cast<T>(1 / sqrt(variance + epsilon));
  next_mean[c] = static_cast<T>(batch.count > 0 ? rule.blend(old_mean, batch.mean) : old_mean);
  next_variance[c] = static_cast<T>(batch.count > 0 ? rule.blend(old_variance, spread) : old_variance);
  if (c == 0) *count = batch.count;
}

LaunchShape one_thread_each(int64_t count) {
  return {.grid = dim3(static_cast<unsigned>((count + 127) / 128)), .block = dim3(128)};
}

template <typename T>
void finalize(const KernelSpec& spec, const KernelContext& context) {
  const int64_t channels = spec.outputs[0].count();
  const int64_t replicas = spec.inputs[0].shape.size() == 2 ? spec.inputs[0].shape[0] : 1;
  const RunningFollows rule{batch_norm_momentum(spec.attributes), batch_norm_unbiased(spec.attributes)};
  launch(finalize_kernel<T>, one_thread_each(channels), context.stream, context.in<double>(0), replicas, channels,
         batch_norm_epsilon(spec.attributes), rule, context.in<T>(1), context.in<T>(2), context.out<T>(0),
         context.out<T>(1), context.out<T>(2), context.out<T>(3), context.out<double>(4));
}

// ---- apply

// The affine map of one channel; forward and the recomputed mask of backward share it to the last bit.
struct Affine {
  float mean = 0, inv_std = 0, factor = 0, bias = 0;

  __device__ float operator()(float x) const { return fmaf(x - mean, factor, bias); }
  __device__ float xhat(float x) const { return (x - mean) * inv_std; }
};

// The channel vectors; scale and bias may be absent.
template <typename T>
struct AffineVectors {
  const T *mean, *inv_std, *scale, *bias;

  __device__ Affine at(int64_t channel) const {
    Affine affine;
    affine.mean = static_cast<float>(mean[channel]);
    affine.inv_std = static_cast<float>(inv_std[channel]);
    affine.factor = scale ? affine.inv_std * static_cast<float>(scale[channel]) : affine.inv_std;
    affine.bias = bias ? static_cast<float>(bias[channel]) : 0.0f;
    return affine;
  }
};

// Calls body(affines, offset) for the packs of kLanes elements that this thread has to do.
template <typename T, int kLanes, typename Body>
__device__ void for_each_pack(const AffineVectors<T>& vectors, int64_t lanes, int64_t rows, Body&& body) {
  const int64_t own_lane = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  Affine affines[kLanes] = {};
#pragma unroll
  for (int c = 0; c < kLanes; ++c) {
    if (own_lane < lanes) affines[c] = vectors.at(own_lane * kLanes + c);
  }
  walk_rows(lanes, rows, [&](int64_t lane, int64_t row) { body(affines, (row * lanes + lane) * kLanes); });
}

template <typename T, int kLanes>
__global__ void __launch_bounds__(kColumnThreads) apply_kernel(AffineVectors<T> vectors, int64_t lanes, int64_t rows,
                                                               bool relu, const T* x, const T* residual, T* y) {
  for_each_pack<T, kLanes>(vectors, lanes, rows, [&](const Affine(&affines)[kLanes], int64_t offset) {
    const Pack<T, kLanes> in = load_pack<kLanes>(x + offset);
    Pack<T, kLanes> more = {};
    if (residual) more = load_pack<kLanes>(residual + offset);
    Pack<T, kLanes> out;
#pragma unroll
    for (int c = 0; c < kLanes; ++c) {
      const float value = affines[c](static_cast<float>(in.at[c])) + static_cast<float>(more.at[c]);
      out.at[c] = static_cast<T>(relu && value < 0 ? 0.0f : value);
    }
    store_pack(y + offset, out);
  });
}

template <typename T, int kLanes>
void apply(const KernelSpec& spec, const KernelContext& context) {
  const Columns columns(spec.inputs[0].shape);
  const ColumnGrid grid(columns, kLanes, kWalkBlocks);
  const AffineVectors<T> vectors{context.in<T>(1), context.in<T>(2), context.in<T>(3), context.in<T>(4)};
  launch(apply_kernel<T, kLanes>, grid.shape(), context.stream, vectors, grid.lanes, columns.rows,
         spec.attributes.get_int("relu", 0) != 0, context.in<T>(0), optional_input<T>(spec, context, 5),
         context.out<T>(0));
}

// ---- backward

// Whether the fused Relu let an element pass.
__device__ inline bool passes(ReluMask mask, const Affine& affine, float x, float y) {
  if (mask == ReluMask::kRecompute) return affine(x) > 0;
  return mask == ReluMask::kNone || y > 0;
}

struct GradientSums {
  double g, g_xhat;

  __device__ void join(const GradientSums& other) {
    g += other.g;
    g_xhat += other.g_xhat;
  }
};

template <typename T, int kLanes>
struct GradientSource {
  using State = GradientSums;
  AffineVectors<T> vectors;
  ReluMask mask;
  int64_t channels;
  const T *dy, *x, *y, *dy2;
  T* kept;

  __device__ void add(State (&own)[kLanes], int64_t lane, int64_t first, int64_t end, int64_t step) const {
    Affine affines[kLanes];
#pragma unroll
    for (int c = 0; c < kLanes; ++c) affines[c] = vectors.at(lane * kLanes + c);
    for (int64_t row = first; row < end; row += kGroup * step) {
      float g[kLanes] = {}, g_xhat[kLanes] = {};
#pragma unroll
      for (int k = 0; k < kGroup; ++k) {
        const int64_t at = row + k * step;
        if (at < end) add_row(affines, at * channels + lane * kLanes, g, g_xhat);
      }
#pragma unroll
      for (int c = 0; c < kLanes; ++c) own[c].join({g[c], g_xhat[c]});
    }
  }

 private:
  __device__ void add_row(const Affine (&affines)[kLanes], int64_t offset, float (&g)[kLanes],
                          float (&g_xhat)[kLanes]) const {
    const Pack<T, kLanes> gradient = load_pack<kLanes>(dy + offset), value = load_pack<kLanes>(x + offset);
    Pack<T, kLanes> output = {}, second = {};
    if (mask == ReluMask::kOutput) output = load_pack<kLanes>(y + offset);
    if (dy2) second = load_pack<kLanes>(dy2 + offset);
    Pack<T, kLanes> keep;
#pragma unroll
    for (int c = 0; c < kLanes; ++c) {
      const float at = static_cast<float>(value.at[c]);
      const bool passed = passes(mask, affines[c], at, static_cast<float>(output.at[c]));
      const float one = passed ? static_cast<float>(gradient.at[c]) + static_cast<float>(second.at[c]) : 0.0f;
      g[c] += one;
      g_xhat[c] += one * affines[c].xhat(at);
      keep.at[c] = static_cast<T>(one);
    }
    if (kept) store_pack(kept + offset, keep);
  }
};

struct WriteGradientSums {
  double* sums;  // of g [C], of g * xhat [C]
  int64_t channels;

  __device__ void operator()(int64_t channel, const GradientSums& own) const {
    sums[channel] = own.g;
    sums[channels + channel] = own.g_xhat;
  }
};

template <typename T, int kLanes>
class GradReduceKernel final : public Kernel {
 public:
  explicit GradReduceKernel(const KernelSpec& spec)
      : spec_(spec), mask_(relu_mask(spec.attributes)), columns_(spec.inputs[1].shape), reduction_(columns_) {}
  std::size_t workspace_bytes() const override { return reduction_.workspace_bytes(); }
  std::string describe() const override { return "channels-last"; }
  void run(const KernelContext& context) override {
    const AffineVectors<T> vectors{context.in<T>(2), context.in<T>(3), optional_input<T>(spec_, context, 4),
                                   optional_input<T>(spec_, context, 5)};
    const GradientSource<T, kLanes> source{vectors,
                                           mask_,
                                           columns_.channels,
                                           context.in<T>(0),
                                           context.in<T>(1),
                                           optional_input<T>(spec_, context, 6),
                                           optional_input<T>(spec_, context, 7),
                                           optional_output<T>(spec_, context, 1)};
    reduction_.run(source, WriteGradientSums{context.out<double>(0), columns_.channels}, context.workspace,
                   context.stream);
  }

 private:
  KernelSpec spec_;
  ReluMask mask_;
  Columns columns_;
  ColumnReduction<kLanes, GradientSource<T, kLanes>> reduction_;
};

template <typename T, int kLanes>
__global__ void __launch_bounds__(kColumnThreads)
    grad_apply_kernel(AffineVectors<T> vectors, int64_t lanes, int64_t rows, ReluMask mask, const double* sums,
                      const double* count, const T* dy, const T* x, T* dx) {
  const int64_t own_lane = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, channels = lanes * kLanes;
  float mean_g[kLanes] = {}, mean_g_xhat[kLanes] = {};
#pragma unroll
  for (int c = 0; c < kLanes; ++c) {
    if (own_lane >= lanes) continue;
    mean_g[c] = static_cast<float>(sums[own_lane * kLanes + c] / *count);
    mean_g_xhat[c] = static_cast<float>(sums[channels + own_lane * kLanes + c] / *count);
  }
  for_each_pack<T, kLanes>(vectors, lanes, rows, [&](const Affine(&affines)[kLanes], int64_t offset) {
    const Pack<T, kLanes> gradient = load_pack<kLanes>(dy + offset), value = load_pack<kLanes>(x + offset);
    Pack<T, kLanes> out;
#pragma unroll
    for (int c = 0; c < kLanes; ++c) {
      const float at = static_cast<float>(value.at[c]);
      const float g = passes(mask, affines[c], at, 0) ? static_cast<float>(gradient.at[c]) : 0.0f;
      out.at[c] = static_cast<T>(affines[c].factor * (g - mean_g[c] - affines[c].xhat(at) * mean_g_xhat[c]));
    }
    store_pack(dx + offset, out);
  });
}

template <typename T, int kLanes>
void grad_apply(const KernelSpec& spec, const KernelContext& context) {
  const Columns columns(spec.inputs[1].shape);
  const ColumnGrid grid(columns, kLanes, kWalkBlocks);
  const AffineVectors<T> vectors{context.in<T>(2), context.in<T>(3), context.in<T>(4),
                                 optional_input<T>(spec, context, 7)};
  launch(grad_apply_kernel<T, kLanes>, grid.shape(), context.stream, vectors, grid.lanes, columns.rows,
         relu_mask(spec.attributes), context.in<double>(5), context.in<double>(6), context.in<T>(0), context.in<T>(1),
         context.out<T>(0));
}

template <typename T>
__global__ void grad_parameters_kernel(const double* sums, int64_t channels, T* dscale, T* dbias) {
  const int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  dscale[c] = static_cast<T>(sums[channels + c]);
  dbias[c] = static_cast<T>(sums[c]);
}

template <typename T>
void grad_parameters(const KernelSpec& spec, const KernelContext& context) {
  const int64_t channels = spec.outputs[0].count();
  launch(grad_parameters_kernel<T>, one_thread_each(channels), context.stream, context.in<double>(0), channels,
         context.out<T>(0), context.out<T>(1));
}

// ---- registration

// Four channels a thread where every row of them starts at a multiple of 16 bytes.
template <template <typename, int> class K, typename T, std::size_t kImage>
std::unique_ptr<Kernel> make_columns(const KernelSpec& spec) {
  if (Columns(spec.inputs[kImage].shape).packs_of_four()) return std::make_unique<K<T, 4>>(spec);
  return std::make_unique<K<T, 1>>(spec);
}

template <KernelFunction kFour, KernelFunction kOne, std::size_t kImage>
std::unique_ptr<Kernel> make_walk(const KernelSpec& spec) {
  if (Columns(spec.inputs[kImage].shape).packs_of_four()) return make_function_kernel<kFour>(spec);
  return make_function_kernel<kOne>(spec);
}

template <typename T>
void add_kernels(Registry& registry) {
  // Everything else that an operand may be is a vector, for which the layouts are the same.
  const std::vector<OperandLayout> last{OperandLayout::kChannelsLast};
  const KernelDef base{
      .backend = Backend::kCuda, .dtype = dtype_of<T>(), .input_layouts = last, .output_layouts = last};
  const auto add = [&](const OpId& op, std::unique_ptr<Kernel> (*make)(const KernelSpec&)) {
    KernelDef def = base;
    def.op = op;
    def.make = make;
    registry.add(std::move(def));
  };
  add(kBatchNormStatistics, make_columns<StatisticsKernel, T, 0>);
  add(kBatchNormApply, make_walk<apply<T, 4>, apply<T, 1>, 0>);
  add(kBatchNormGradReduce, make_columns<GradReduceKernel, T, 1>);
  add(kBatchNormGradApply, make_walk<grad_apply<T, 4>, grad_apply<T, 1>, 1>);
  // Their first input is float64 whatever the type of the program: registered under it, chosen by their outputs.
  registry.add(KernelDef{.op = kBatchNormFinalize,
                         .backend = Backend::kCuda,
                         .dtype = DType::kFloat64,
                         .accepts = first_output_is<T>,
                         .make = make_function_kernel<finalize<T>>});
}

template <typename T>
void add_grad_parameters(Registry& registry) {
  registry.add(KernelDef{.op = kBatchNormGradParameters,
                         .backend = Backend::kCuda,
                         .dtype = DType::kFloat64,
                         .accepts = first_output_is<T>,
                         .make = make_function_kernel<grad_parameters<T>>});
}

}  // namespace

void register_batch_norm_lowered_cuda(Registry& registry) {
  add_kernels<float>(registry);
  add_grad_parameters<float>(registry);
  add_grad_parameters<double>(registry);
}

}  // namespace onward
