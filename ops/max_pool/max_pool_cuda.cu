// Channels-last: a thread has one pixel and one or four channels. The gradient gathers: every input asks the outputs
// that look at it whether it was their maximum, so that nothing is added by two threads.
#include "ops/core/cuda/window.h"
#include "ops/core/registry.h"
#include "ops/max_pool/max_pool.h"
#include "ops/max_pool/max_pool_kernel.h"

namespace onward {
namespace {

// How ONNX's output Indices counts: over the whole row-major tensor, or with the spatial dimensions reversed.
struct IndexRule {
  int64_t* indices;
  bool column_major;

  __device__ void put(const DeviceWindow& w, int64_t plane, int position, int64_t at) const {
    if (!indices) return;
    const Place place = unravel(position, w.input);
    const int reversed = (place.at[2] * w.input[1] + place.at[1]) * w.input[0] + place.at[0];
    indices[at] = position < 0 ? -1 : plane * w.input_count() + (column_major ? reversed : position);
  }
};

template <typename T, typename I, int kLanes>
__global__ void __launch_bounds__(kColumnThreads, kPoolBlocks)
    max_pool_kernel(DeviceWindow w, int64_t lanes, int64_t pixels, T lowest_value, const T* x, T* y, IndexRule rule,
                    I* window) {
  const int64_t channels = lanes * kLanes;
  walk_rows(lanes, pixels, [&](int64_t lane, int64_t pixel) {
    const Pixel own = pixel_at(pixel, w.output);
    Pack<T, kLanes> maximum;
    int best[kLanes], position[kLanes];
#pragma unroll
    for (int c = 0; c < kLanes; ++c) maximum.at[c] = lowest_value, best[c] = w.positions(), position[c] = -1;
    for_each_tap(w, own.place, [&](int k, int tap) {
      const auto in = load_pack<kLanes>(x + (own.image * w.input_count() + tap) * channels + lane * kLanes);
#pragma unroll
      for (int c = 0; c < kLanes; ++c) {
        // The first of equal ones wins, and so does a number that is none.
        const bool replaces = in.at[c] > maximum.at[c] || in.at[c] != in.at[c] || position[c] < 0;
        if (replaces) maximum.at[c] = in.at[c], best[c] = k, position[c] = tap;
      }
    });
    const int64_t at = pixel * channels + lane * kLanes;
    store_pack(y + at, maximum);
#pragma unroll
    for (int c = 0; c < kLanes; ++c) {
      rule.put(w, own.image * channels + lane * kLanes + c, position[c], at + c);
      if (window) window[at + c] = static_cast<I>(best[c]);
    }
  });
}

template <typename T, typename I, int kLanes>
__global__ void __launch_bounds__(kColumnThreads, kPoolBlocks)
    max_pool_grad_kernel(DeviceWindow w, int64_t lanes, int64_t pixels, const T* dy, const I* window, T* dx) {
  const int64_t channels = lanes * kLanes;
  walk_rows(lanes, pixels, [&](int64_t lane, int64_t pixel) {
    const Pixel own = pixel_at(pixel, w.input);
    float sum[kLanes] = {};
    for_each_viewer(w, own.place, [&](int k, int output) {
      const int64_t at = (own.image * w.output_count() + output) * channels + lane * kLanes;
      const auto gradient = load_pack<kLanes>(dy + at);
      const auto chosen = load_pack<kLanes>(window + at);
#pragma unroll
      for (int c = 0; c < kLanes; ++c) {
        if (static_cast<int>(chosen.at[c]) == k) sum[c] += static_cast<float>(gradient.at[c]);
      }
    });
    Pack<T, kLanes> out;
#pragma unroll
    for (int c = 0; c < kLanes; ++c) out.at[c] = static_cast<T>(sum[c]);
    store_pack(dx + pixel * channels + lane * kLanes, out);
  });
}

// Both directions run over the pixels of their output.
template <typename T, typename I>
class MaxPoolKernel final : public Kernel {
 public:
  explicit MaxPoolKernel(const KernelSpec& spec)
      : spec_(spec), window_(pooling_window(spec.attributes, spec.inputs[0].shape)), columns_(spec.outputs[0].shape) {}
  std::string describe() const override { return "channels-last"; }
  void run(const KernelContext& context) override { columns_.packs_of_four() ? start<4>(context) : start<1>(context); }

 private:
  template <int kLanes>
  void start(const KernelContext& context) const {
    const ColumnGrid grid(columns_, kLanes, kWalkBlocks);
    const IndexRule rule{optional_output<int64_t>(spec_, context, 1),
                         spec_.attributes.get_int("storage_order", 0) != 0};
    launch(max_pool_kernel<T, I, kLanes>, grid.shape(), context.stream, window_, grid.lanes, columns_.rows, lowest<T>(),
           context.in<T>(0), context.out<T>(0), rule, optional_output<I>(spec_, context, 2));
  }

  KernelSpec spec_;
  DeviceWindow window_;
  Columns columns_;
};

template <typename T, typename I>
class MaxPoolGradKernel final : public Kernel {
 public:
  explicit MaxPoolGradKernel(const KernelSpec& spec)
      : window_(pooling_window(spec.attributes, spec.outputs[0].shape)), columns_(spec.outputs[0].shape) {}
  std::string describe() const override { return "channels-last gather"; }
  void run(const KernelContext& context) override { columns_.packs_of_four() ? start<4>(context) : start<1>(context); }

 private:
  template <int kLanes>
  void start(const KernelContext& context) const {
    const ColumnGrid grid(columns_, kLanes, kWalkBlocks);
    launch(max_pool_grad_kernel<T, I, kLanes>, grid.shape(), context.stream, window_, grid.lanes, columns_.rows,
           context.in<T>(0), context.in<I>(1), context.out<T>(0));
  }

  DeviceWindow window_;
  Columns columns_;
};

template <DType kDType>
bool reads(const KernelSpec& spec) {
  return spec.inputs[0].dtype == kDType && fits_device_window(spec);
}

template <typename T, DType kDType>
void add_forward(Registry& registry) {
  const std::vector<OperandLayout> last{OperandLayout::kChannelsLast};
  registry.add(KernelDef{.op = kMaxPool,
                         .backend = Backend::kCuda,
                         .dtype = is_floating(kDType) ? kDType : DType::kUndefined,
                         .input_layouts = last,
                         .output_layouts = last,
                         .accepts = reads<kDType>,
                         .make = make_max_pool<MaxPoolKernel, T>});
}

template <typename T>
void add_gradient(Registry& registry) {
  const std::vector<OperandLayout> last{OperandLayout::kChannelsLast};
  registry.add(KernelDef{.op = kMaxPoolGrad,
                         .backend = Backend::kCuda,
                         .dtype = dtype_of<T>(),
                         .input_layouts = last,
                         .output_layouts = last,
                         .accepts = fits_device_window,
                         .make = make_max_pool<MaxPoolGradKernel, T>});
}

}  // namespace

void register_max_pool_cuda(Registry& registry) {
  add_forward<float, DType::kFloat32>(registry);
  add_gradient<float>(registry);
  // Quantised images: inference only.
  add_forward<uint8_t, DType::kUInt8>(registry);
  add_forward<int8_t, DType::kInt8>(registry);
}

}  // namespace onward
