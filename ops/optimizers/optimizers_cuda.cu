// One launch updates up to kListedTensors tensors. Learning rate, step and `apply` lie on the device and are read
// there: nothing waits for the host. Numbers that are the same for all elements are computed once a block, in double,
// then rounded to the type of the parameters.
#include <cmath>

#include "ops/core/cuda/tensor_list.h"
#include "ops/core/registry.h"
#include "ops/optimizers/step_operands.h"

namespace onward {
namespace {

// A rule has: kMoments; host constants; prepare(), what is the same for all elements; update(), one element.

template <typename T>
struct Sgd {
  static constexpr int kMoments = 0;
  struct Rates {
    T lr, decay;
  };
  const double* lr;
  double decay;

  Sgd(const KernelSpec& spec, const KernelContext& context)
      : lr(context.in<double>(0)), decay(spec.attributes.get_double("weight_decay", 0)) {}
  __device__ Rates prepare() const { return {static_cast<T>(*lr), static_cast<T>(decay)}; }
  static __device__ void update(const Rates& r, T& p, T g, T*) { p = p - r.lr * (g + r.decay * p); }
};

template <typename T>
struct Momentum {
  static constexpr int kMoments = 1;
  struct Rates {
    T lr, decay, momentum;
    bool nesterov;
  };
  const double* lr;
  double decay, momentum;
  bool nesterov;

  Momentum(const KernelSpec& spec, const KernelContext& context)
      : lr(context.in<double>(0)),
        decay(spec.attributes.get_double("weight_decay", 0)),
        momentum(spec.attributes.get_double("momentum")),
        nesterov(spec.attributes.get_int("nesterov", 0) != 0) {}
  __device__ Rates prepare() const {
    return {static_cast<T>(*lr), static_cast<T>(decay), static_cast<T>(momentum), nesterov};
  }
  static __device__ void update(const Rates& r, T& p, T g, T* moments) {
    const T gradient = g + r.decay * p;
    const T velocity = r.momentum * moments[0] + gradient;
    p = p - r.lr * (r.nesterov ? gradient + r.momentum * velocity : velocity);
    moments[0] = velocity;
  }
};

template <typename T>
struct Adam {
  static constexpr int kMoments = 2;
  // step = lr / (1 - beta1^t), root = 1 / sqrt(1 - beta2^t), keep = 1 - lr * decay if decoupled, else 1.
  struct Rates {
    T step, root, epsilon, decay, keep, new1, beta2, new2;
  };
  const double* lr;
  const int64_t* t;
  double beta1, beta2, epsilon, decay;
  bool decoupled;

  Adam(const KernelSpec& spec, const KernelContext& context)
      : lr(context.in<double>(0)),
        t(context.in<int64_t>(1)),
        beta1(spec.attributes.get_double("beta1", 0.9)),
        beta2(spec.attributes.get_double("beta2", 0.999)),
        epsilon(spec.attributes.get_double("epsilon", 1e-8)),
        decay(spec.attributes.get_double("weight_decay", 0)),
        decoupled(spec.attributes.get_int("decoupled", 0) != 0) {}
  __device__ Rates prepare() const {
    const double steps = static_cast<double>(*t);
    return {static_cast<T>(*lr / (1 - pow(beta1, steps))),
            static_cast<T>(1 / sqrt(1 - pow(beta2, steps))),
            static_cast<T>(epsilon),
            static_cast<T>(decoupled ? 0 : decay),
            static_cast<T>(decoupled ? 1 - *lr * decay : 1),
            static_cast<T>(1 - beta1),
            static_cast<T>(beta2),
            static_cast<T>(1 - beta2)};
  }
  static __device__ void update(const Rates& r, T& p, T g, T* moments) {
    const T gradient = g + r.decay * p;
    const T mean = moments[0] + r.new1 * (gradient - moments[0]);
    const T square = r.beta2 * moments[1] + r.new2 * gradient * gradient;
    p = p * r.keep - r.step * (mean / (sqrtf(square) * r.root + r.epsilon));
    moments[0] = mean;
    moments[1] = square;
  }
};

// The buffers of a tensor in a list: p, g, moments, p', moments'.
template <typename Rule>
constexpr int buffer_count() {
  return 3 + 2 * Rule::kMoments;
}
template <typename Rule>
constexpr int next_buffer(int moment) {
  return 2 + Rule::kMoments + 1 + moment;
}

// kN neighbouring elements; without `apply` they are copied bit for bit.
template <int kN, typename T, typename Rule>
__device__ void step_elements(const TensorList<buffer_count<Rule>()>& list, const Chunk& chunk, int64_t i, bool apply,
                              const typename Rule::Rates& rates) {
  constexpr int kMoments = Rule::kMoments;
  auto p = load_pack<kN>(list.template in<T>(0, chunk) + i);
  const auto g = load_pack<kN>(list.template in<T>(1, chunk) + i);
  T moments[kN][kMoments + 1] = {};
#pragma unroll
  for (int m = 0; m < kMoments; ++m) {
    const auto moment = load_pack<kN>(list.template in<T>(2 + m, chunk) + i);
#pragma unroll
    for (int k = 0; k < kN; ++k) moments[k][m] = moment.at[k];
  }
#pragma unroll
  for (int k = 0; k < kN; ++k) {
    if (apply) Rule::update(rates, p.at[k], g.at[k], moments[k]);
  }
  store_pack(list.template out<T>(2 + kMoments, chunk) + i, p);
#pragma unroll
  for (int m = 0; m < kMoments; ++m) {
    Pack<T, kN> moment;
#pragma unroll
    for (int k = 0; k < kN; ++k) moment.at[k] = moments[k][m];
    store_pack(list.template out<T>(next_buffer<Rule>(m), chunk) + i, moment);
  }
}

template <typename T, typename Rule>
__global__ void __launch_bounds__(kListThreads)
    step_kernel(TensorList<buffer_count<Rule>()> list, Rule rule, const bool* apply) {
  ONWARD_SHARED(typename Rule::Rates, rates, 1);
  if (threadIdx.x == 0) rates[0] = rule.prepare();
  __syncthreads();
  const Chunk chunk = list.chunk(blockIdx.x);
  const bool applies = !apply || *apply;
  const typename Rule::Rates own = rates[0];
  walk_chunk(
      chunk.count, [&](int64_t i) { step_elements<4, T, Rule>(list, chunk, i, applies, own); },
      [&](int64_t i) { step_elements<1, T, Rule>(list, chunk, i, applies, own); });
}

template <typename T, template <typename> class R, const StepOperands& kOperands>
class StepKernel final : public Kernel {
  using Rule = R<T>;
  static constexpr int kBuffers = buffer_count<Rule>();

 public:
  explicit StepKernel(const KernelSpec& spec) : spec_(spec), count_(StepOperands::count(spec.attributes)) {
    for (std::size_t i = 0; i < count_; ++i) elements_.push_back(spec.outputs[i].count());
  }
  void run(const KernelContext& context) override {
    const Rule rule(spec_, context);
    const auto* apply = static_cast<const bool*>(context.inputs[kOperands.apply()]);
    for_each_list<kBuffers>(
        elements_, [&](int k, std::size_t i) { return buffer(context, k, i); },
        [&](const TensorList<kBuffers>& list, const LaunchShape& shape, int64_t) {
          launch(step_kernel<T, Rule>, shape, context.stream, list, rule, apply);
        });
  }
  std::string describe() const override { return "flat"; }

 private:
  const void* buffer(const KernelContext& context, int k, std::size_t i) const {
    const int inputs = 2 + Rule::kMoments;
    if (k < inputs) return context.inputs[kOperands.parameter(static_cast<std::size_t>(k) * count_ + i)];
    return context.outputs[static_cast<std::size_t>(k - inputs) * count_ + i];
  }

  KernelSpec spec_;
  std::size_t count_;
  std::vector<int64_t> elements_;
};

// Their first input, the learning rate, is float64 whatever the parameters: registered under it, chosen by the outputs.
template <typename T, template <typename> class R, const StepOperands& kOperands>
KernelDef kernel(const OpId& op) {
  return {
      .op = op,
      .backend = Backend::kCuda,
      .dtype = DType::kFloat64,
      .accepts = first_output_is<T>,
      .make = [](const KernelSpec& spec) { return std::unique_ptr<Kernel>(new StepKernel<T, R, kOperands>(spec)); }};
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(kernel<T, Sgd, kSgdOperands>(kSgdStep));
  registry.add(kernel<T, Momentum, kMomentumOperands>(kMomentumStep));
  registry.add(kernel<T, Adam, kAdamOperands>(kAdamStep));
}

}  // namespace

void register_optimizers_cuda(Registry& registry) { add_kernels<float>(registry); }

}  // namespace onward
