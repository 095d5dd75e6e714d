// Channels-last; sums in double, as on the CPU: a bias gradient adds up to a million terms.
#include "ops/core/cuda/columns.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

template <typename T, int kLanes>
struct SumSource {
  using State = Total;
  const T* x;
  int64_t channels;

  __device__ void add(State (&own)[kLanes], int64_t lane, int64_t first, int64_t end, int64_t step) const {
    for (int64_t row = first; row < end; row += step) {
      const auto in = load_pack<kLanes>(x + row * channels + lane * kLanes);
#pragma unroll
      for (int c = 0; c < kLanes; ++c) own[c].sum += static_cast<double>(in.at[c]);
    }
  }
};

template <typename T>
struct WriteTotal {
  T* y;

  __device__ void operator()(int64_t channel, const Total& total) const { y[channel] = static_cast<T>(total.sum); }
};

template <typename T, int kLanes>
class ChannelSum final : public Kernel {
 public:
  explicit ChannelSum(const KernelSpec& spec) : columns_(spec.inputs[0].shape), reduction_(columns_) {}
  std::size_t workspace_bytes() const override { return reduction_.workspace_bytes(); }
  std::string describe() const override { return "channels-last"; }
  void run(const KernelContext& context) override {
    reduction_.run(SumSource<T, kLanes>{context.in<T>(0), columns_.channels}, WriteTotal<T>{context.out<T>(0)},
                   context.workspace, context.stream);
  }

 private:
  Columns columns_;
  ColumnReduction<kLanes, SumSource<T, kLanes>> reduction_;
};

template <typename T>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  if (Columns(spec.inputs[0].shape).packs_of_four()) return std::make_unique<ChannelSum<T, 4>>(spec);
  return std::make_unique<ChannelSum<T, 1>>(spec);
}

}  // namespace

void register_channel_sum_cuda(Registry& registry) {
  registry.add(KernelDef{.op = {kOnwardDomain, "ChannelSum"},
                         .backend = Backend::kCuda,
                         .dtype = DType::kFloat32,
                         .input_layouts = {OperandLayout::kChannelsLast},
                         .make = make<float>});
}

}  // namespace onward
