// First a warp a label counts the classes before it, then one block adds up.
#include "ops/core/registry.h"
#include "ops/softmax_cross_entropy_loss/device_label_loss.h"

namespace onward {
namespace {

constexpr int kSumThreads = 1024;

// Among how many of the highest scores the label is: written as a rank, or -1 where it does not count or its score is
// no number.
template <typename T>
__global__ void __launch_bounds__(kLineThreads) rank_kernel(DeviceLabels<T> labels, const T* scores, int32_t* ranks) {
  const int64_t i = warp_index();
  if (i >= labels.count) return;
  const int64_t label = labels[i];
  const bool counts = labels.weight(i) == 1;  // the same on every lane
  const T* row = scores + labels.first(i);
  const float own = counts ? static_cast<float>(row[label * labels.stride]) : NAN;
  int32_t before = 0;
  for (int64_t c = lane_index(); c < labels.classes; c += kWarpLanes) {
    const float other = static_cast<float>(row[c * labels.stride]);
    before += other != other || other > own || (other == own && c < label);
  }
  before = warp_sum(before);
  if (lane_index() == 0) ranks[i] = own == own ? before : -1;
}

__global__ void __launch_bounds__(kSumThreads)
    count_kernel(int64_t count, const int32_t* ranks, int64_t* top1, int64_t* top5) {
  long long ones = 0, fives = 0;
  for (int64_t i = threadIdx.x; i < count; i += kSumThreads) {
    ones += ranks[i] == 0;
    fives += ranks[i] >= 0 && ranks[i] < 5;
  }
  ones = block_sum<kSumThreads>(ones);
  fives = block_sum<kSumThreads>(fives);
  if (threadIdx.x == 0) *top1 = ones, *top5 = fives;
}

template <typename T>
class CorrectCounts final : public Kernel {
 public:
  explicit CorrectCounts(const KernelSpec& spec) : spec_(spec) {}
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(spec_.inputs[1].count()) * sizeof(int32_t);
  }
  void run(const KernelContext& context) override {
    constexpr std::size_t kNoWeights = 2;  // the op has no such input
    const DeviceLabels<T> labels(spec_, context, spec_.inputs[0].shape, 1, kNoWeights);
    auto* ranks = static_cast<int32_t*>(context.workspace);
    launch(rank_kernel<T>, warp_each(labels.count), context.stream, labels, context.in<T>(0), ranks);
    launch(count_kernel, {.grid = dim3(1), .block = dim3(kSumThreads)}, context.stream, labels.count, ranks,
           context.out<int64_t>(0), context.out<int64_t>(1));
  }

 private:
  KernelSpec spec_;
};

}  // namespace

void register_correct_counts_cuda(Registry& registry) {
  registry.add(KernelDef{.op = {kOnwardDomain, "CorrectCounts"},
                         .backend = Backend::kCuda,
                         .dtype = DType::kFloat32,
                         .make = [](const KernelSpec& spec) -> std::unique_ptr<Kernel> {
                           return std::make_unique<CorrectCounts<float>>(spec);
                         }});
}

}  // namespace onward
