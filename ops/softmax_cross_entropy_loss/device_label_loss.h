#pragma once
// What the losses over class labels share on the GPU; their meaning is that of label_loss.h. Labels were checked on the
// host before the step; one that is out of range all the same makes its term NaN instead of reading elsewhere.
#include "ops/core/registry.h"
#include "ops/softmax/device_lines.h"

namespace onward {

// Labels and weights of one run, row-major.
template <typename T>
struct DeviceLabels {
  const void* labels;
  const T* weights;  // nullptr: all 1
  int64_t ignored_label, count, classes, stride;
  bool wide, ignores;

  DeviceLabels(const KernelSpec& spec, const KernelContext& context, const Shape& scores, std::size_t label_input,
               std::size_t weight_input) {
    labels = context.inputs[label_input];
    wide = spec.inputs[label_input].dtype == DType::kInt64;
    weights = optional_input<T>(spec, context, weight_input);
    ignores = spec.attributes.has("ignore_index");
    ignored_label = spec.attributes.get_int("ignore_index", 0);
    classes = scores[1];
    stride = element_count({scores.begin() + 2, scores.end()});
    count = scores[0] * stride;
  }

  __device__ int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(labels)[i] : static_cast<const int32_t*>(labels)[i];
  }
  // Its score of class 0.
  __device__ int64_t first(int64_t i) const { return i / stride * classes * stride + i % stride; }
  // Of the label's class; 0 if it is ignored.
  __device__ double weight(int64_t i) const {
    const int64_t label = (*this)[i];
    if (ignores && label == ignored_label) return 0;
    if (label < 0 || label >= classes) return static_cast<double>(NAN);
    return weights ? static_cast<double>(weights[label]) : 1;
  }
  // Whether the weights of all labels are known to be 1.
  bool counts_all() const { return !weights && !ignores; }
};

inline constexpr int kLossThreads = 1024;

// One block: the sum of the terms, divided for a mean. 0 if no label counts.
template <typename T>
__global__ void __launch_bounds__(kLossThreads)
    reduce_terms_kernel(DeviceLabels<T> labels, const double* terms, bool mean, T* loss) {
  double sum = 0, weights = 0;
  for (int64_t i = threadIdx.x; i < labels.count; i += kLossThreads) {
    sum += terms[i];
    if (mean) weights += labels.weight(i);
  }
  sum = block_sum<kLossThreads>(sum);
  weights = block_sum<kLossThreads>(weights);
  if (threadIdx.x != 0) return;
  const double denominator = mean ? weights : 1;
  *loss = denominator == 0 ? T(0) : static_cast<T>(sum / denominator);
}

// One block: what the gradient of a mean is multiplied by.
template <typename T>
__global__ void __launch_bounds__(kLossThreads) mean_share_kernel(DeviceLabels<T> labels, double* share) {
  double weights = 0;
  for (int64_t i = threadIdx.x; i < labels.count; i += kLossThreads) weights += labels.weight(i);
  weights = block_sum<kLossThreads>(weights);
  if (threadIdx.x == 0) *share = weights == 0 ? 0 : 1 / weights;
}

template <typename T>
__global__ void __launch_bounds__(kLineThreads) terms_as_loss_kernel(int64_t count, const double* terms, T* loss) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) loss[i] = static_cast<T>(terms[i]);
}

inline std::string reduction_attribute(const KernelSpec& spec) {
  return spec.attributes.get_string("reduction", "mean");
}

// Writes the loss from one term per label.
template <typename T>
void reduce_terms_on_device(const KernelSpec& spec, const KernelContext& context, const DeviceLabels<T>& labels) {
  const auto* terms = static_cast<const double*>(context.workspace);
  const std::string reduction = reduction_attribute(spec);
  if (reduction == "none") {
    const int64_t blocks = (labels.count + kLineThreads - 1) / kLineThreads;
    launch(terms_as_loss_kernel<T>, {.grid = dim3(static_cast<unsigned>(blocks)), .block = dim3(kLineThreads)},
           context.stream, labels.count, terms, context.out<T>(0));
  } else {
    launch(reduce_terms_kernel<T>, {.grid = dim3(1), .block = dim3(kLossThreads)}, context.stream, labels, terms,
           reduction == "mean", context.out<T>(0));
  }
}

// The gradient of the loss with respect to the term of a label, before its weight.
template <typename T>
struct DeviceTermGradient {
  const T* dloss;
  const double* share;  // nullptr: fixed_share
  double fixed_share;
  bool per_label;

  __device__ double operator[](int64_t label) const {
    return static_cast<double>(dloss[per_label ? label : 0]) * (share ? *share : fixed_share);
  }
};

// Starts what a mean has to know first. The workspace holds one double.
template <typename T>
DeviceTermGradient<T> device_term_gradient(const KernelSpec& spec, const KernelContext& context,
                                           const DeviceLabels<T>& labels) {
  const std::string reduction = reduction_attribute(spec);
  DeviceTermGradient<T> gradient{context.in<T>(0), nullptr, 1, reduction == "none"};
  if (reduction != "mean") return gradient;
  if (labels.counts_all()) {
    gradient.fixed_share = labels.count == 0 ? 0 : 1 / static_cast<double>(labels.count);
    return gradient;
  }
  auto* share = static_cast<double*>(context.workspace);
  launch(mean_share_kernel<T>, {.grid = dim3(1), .block = dim3(kLossThreads)}, context.stream, labels, share);
  gradient.share = share;
  return gradient;
}

// A kernel with a workspace of one double for each element of an input, or one double alone.
template <KernelFunction kRun, int kPerElementOf>
std::unique_ptr<Kernel> make_label_loss_kernel(const KernelSpec& spec) {
  class LabelLoss final : public Kernel {
   public:
    explicit LabelLoss(const KernelSpec& s) : spec_(s) {}
    std::size_t workspace_bytes() const override {
      if constexpr (kPerElementOf < 0) {
        return sizeof(double);
      } else {
        return static_cast<std::size_t>(spec_.inputs[kPerElementOf].count()) * sizeof(double);
      }
    }
    void run(const KernelContext& context) override { kRun(spec_, context); }

   private:
    KernelSpec spec_;
  };
  return std::make_unique<LabelLoss>(spec);
}

// Registers the kernels of a loss and of its gradient for one type.
template <typename T, KernelFunction kLoss, KernelFunction kGradient>
void add_device_label_loss_kernels(Registry& registry, const std::string& op) {
  registry.add(KernelDef{
      .op = {"", op}, .backend = Backend::kCuda, .dtype = dtype_of<T>(), .make = make_label_loss_kernel<kLoss, 1>});
  registry.add(KernelDef{.op = {kOnwardDomain, op + "Grad"},
                         .backend = Backend::kCuda,
                         .dtype = dtype_of<T>(),
                         .make = make_label_loss_kernel<kGradient, -1>});
}

}  // namespace onward
