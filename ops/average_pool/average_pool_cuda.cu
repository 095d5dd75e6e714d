// Channels-last: a thread has one pixel and one or four channels. Both directions gather.
#include "ops/average_pool/average_pool.h"
#include "ops/core/cuda/window.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

// What the sum of the window at an output place is divided by, see average_divisors. How many of its positions count is
// the product of the counts along the dimensions.
__device__ float divisor(const DeviceWindow& w, const Place& output, bool include_padding) {
  int count = 1;
  for (int i = 0; i < kWindowRank; ++i) {
    const int begin = include_padding ? -w.pad[i] : 0, end = include_padding ? w.padded_end[i] : w.input[i];
    int met = 0;
    for (int k = 0; k < w.kernel[i]; ++k) {
      const int at = output.at[i] * w.stride[i] + k * w.dilation[i] - w.pad[i];
      met += at >= begin && at < end;
    }
    count *= met;
  }
  return count > 0 ? static_cast<float>(count) : 1.0f;
}

template <typename T, int kLanes>
__device__ void store_sums(T* to, const float (&sum)[kLanes], float factor) {
  Pack<T, kLanes> out;
#pragma unroll
  for (int c = 0; c < kLanes; ++c) out.at[c] = static_cast<T>(sum[c] * factor);
  store_pack(to, out);
}

template <typename T, int kLanes>
__device__ void add_pack(float (&sum)[kLanes], const T* from, float factor) {
  const auto in = load_pack<kLanes>(from);
#pragma unroll
  for (int c = 0; c < kLanes; ++c) sum[c] += static_cast<float>(in.at[c]) * factor;
}

template <typename T, int kLanes>
__global__ void __launch_bounds__(kColumnThreads, kPoolBlocks)
    average_pool_kernel(DeviceWindow w, int64_t lanes, int64_t pixels, bool include_padding, const T* x, T* y) {
  const int64_t channels = lanes * kLanes;
  walk_rows(lanes, pixels, [&](int64_t lane, int64_t pixel) {
    const Pixel own = pixel_at(pixel, w.output);
    const float share = 1 / divisor(w, own.place, include_padding);
    const T* from = x + own.image * w.input_count() * channels + lane * kLanes;
    float sum[kLanes] = {};
    for_each_tap(w, own.place, [&](int, int tap) { add_pack(sum, from + tap * channels, 1.0f); });
    store_sums(y + pixel * channels + lane * kLanes, sum, share);
  });
}

template <typename T, int kLanes>
__global__ void __launch_bounds__(kColumnThreads, kPoolBlocks)
    average_pool_grad_kernel(DeviceWindow w, int64_t lanes, int64_t pixels, bool include_padding, const T* dy, T* dx) {
  const int64_t channels = lanes * kLanes;
  walk_rows(lanes, pixels, [&](int64_t lane, int64_t pixel) {
    const Pixel own = pixel_at(pixel, w.input);
    float sum[kLanes] = {};
    for_each_viewer(w, own.place, [&](int, int output) {
      const float share = 1 / divisor(w, unravel(output, w.output), include_padding);
      add_pack(sum, dy + (own.image * w.output_count() + output) * channels + lane * kLanes, share);
    });
    store_sums(dx + pixel * channels + lane * kLanes, sum, 1.0f);
  });
}

template <typename T>
class AveragePoolKernel final : public Kernel {
 public:
  explicit AveragePoolKernel(const KernelSpec& spec)
      : backward_(spec.op == kAveragePoolGrad),
        include_padding_(spec.attributes.get_int("count_include_pad", 0) != 0),
        window_(pooling_window(spec.attributes, (backward_ ? spec.outputs : spec.inputs)[0].shape)),
        columns_(spec.outputs[0].shape) {}
  std::string describe() const override { return "channels-last"; }
  void run(const KernelContext& context) override { columns_.packs_of_four() ? start<4>(context) : start<1>(context); }

 private:
  template <int kLanes>
  void start(const KernelContext& context) const {
    const ColumnGrid grid(columns_, kLanes, kWalkBlocks);
    launch(backward_ ? average_pool_grad_kernel<T, kLanes> : average_pool_kernel<T, kLanes>, grid.shape(),
           context.stream, window_, grid.lanes, columns_.rows, include_padding_, context.in<T>(0), context.out<T>(0));
  }

  bool backward_, include_padding_;
  DeviceWindow window_;
  Columns columns_;
};

template <typename T>
void add_kernels(Registry& registry) {
  for (const OpId& op : {kAveragePool, kAveragePoolGrad}) {
    registry.add(KernelDef{.op = op,
                           .backend = Backend::kCuda,
                           .dtype = dtype_of<T>(),
                           .input_layouts = {OperandLayout::kChannelsLast},
                           .output_layouts = {OperandLayout::kChannelsLast},
                           .accepts = fits_device_window,
                           .make = [](const KernelSpec& spec) -> std::unique_ptr<Kernel> {
                             return std::make_unique<AveragePoolKernel<T>>(spec);
                           }});
  }
}

}  // namespace

void register_average_pool_cuda(Registry& registry) { add_kernels<float>(registry); }

}  // namespace onward
