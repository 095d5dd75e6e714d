// All tensors of a step are one flat range that the team shares, so that many small parameters cost no more than a big
// one. Numbers that are the same for all elements are computed in double, then rounded to the type of the parameters.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "ops/core/flat_range.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"
#include "ops/optimizers/step_operands.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 16384;

// How one tensor of a step lies in memory, cut to a range.
template <typename T>
struct Tensors {
  const T *p, *g;
  const T* moments[2];
  T* next_p;
  T* next_moments[2];
};

template <typename T>
struct SgdRates {
  T lr, decay;
};
template <typename T>
struct MomentumRates {
  T lr, decay, momentum;
  bool nesterov;
};
// step = lr / (1 - beta1^t), root = 1 / sqrt(1 - beta2^t), keep = 1 - lr * decay if decoupled, else 1.
template <typename T>
struct AdamRates {
  T step, root, epsilon, decay, keep, new1, beta2, new2;
};

template <typename T>
ONWARD_SIMD void sgd(const T* p, const T* g, T* next, int64_t n, SgdRates<T> rates) {
  const T lr = rates.lr, decay = rates.decay;
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) next[i] = p[i] - lr * (g[i] + decay * p[i]);
}

template <typename T>
ONWARD_SIMD void momentum(const T* p, const T* g, const T* v, T* next_p, T* next_v, int64_t n, MomentumRates<T> rates) {
  const T lr = rates.lr, decay = rates.decay, mu = rates.momentum;
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const T velocity = mu * v[i] + (g[i] + decay * p[i]);
    next_p[i] = p[i] - lr * velocity;
    next_v[i] = velocity;
  }
}

template <typename T>
ONWARD_SIMD void nesterov(const T* p, const T* g, const T* v, T* next_p, T* next_v, int64_t n, MomentumRates<T> rates) {
  const T lr = rates.lr, decay = rates.decay, mu = rates.momentum;
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] + decay * p[i];
    const T velocity = mu * v[i] + gradient;
    next_p[i] = p[i] - lr * (gradient + mu * velocity);
    next_v[i] = velocity;
  }
}

template <typename T>
ONWARD_SIMD void adam(const T* p, const T* g, const T* m, const T* v, T* next_p, T* next_m, T* next_v, int64_t n,
                      AdamRates<T> rates) {
  const T step = rates.step, root = rates.root, epsilon = rates.epsilon, decay = rates.decay, keep = rates.keep;
  const T new1 = rates.new1, beta2 = rates.beta2, new2 = rates.new2;
  ONWARD_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] + decay * p[i];
    const T mean = m[i] + new1 * (gradient - m[i]);
    const T square = beta2 * v[i] + new2 * gradient * gradient;
    T deviation;
    if constexpr (std::is_same_v<T, float>) {
      deviation = __builtin_sqrtf(square);
    } else {
      deviation = __builtin_sqrt(square);
    }
    next_p[i] = p[i] * keep - step * (mean / (deviation * root + epsilon));
    next_m[i] = mean;
    next_v[i] = square;
  }
}

template <typename T>
SgdRates<T> sgd_rates(const KernelSpec& spec, const KernelContext& context) {
  return {static_cast<T>(*context.in<double>(0)), static_cast<T>(spec.attributes.get_double("weight_decay", 0))};
}

template <typename T>
MomentumRates<T> momentum_rates(const KernelSpec& spec, const KernelContext& context) {
  return {static_cast<T>(*context.in<double>(0)), static_cast<T>(spec.attributes.get_double("weight_decay", 0)),
          static_cast<T>(spec.attributes.get_double("momentum")), spec.attributes.get_int("nesterov", 0) != 0};
}

template <typename T>
AdamRates<T> adam_rates(const KernelSpec& spec, const KernelContext& context) {
  const Attributes& attributes = spec.attributes;
  const double lr = *context.in<double>(0), t = static_cast<double>(*context.in<int64_t>(1));
  const double beta1 = attributes.get_double("beta1", 0.9), beta2 = attributes.get_double("beta2", 0.999);
  const double decay = attributes.get_double("weight_decay", 0);
  const bool decoupled = attributes.get_int("decoupled", 0) != 0;
  AdamRates<T> rates;
  rates.step = static_cast<T>(lr / (1 - std::pow(beta1, t)));
  rates.root = static_cast<T>(1 / std::sqrt(1 - std::pow(beta2, t)));
  rates.epsilon = static_cast<T>(attributes.get_double("epsilon", 1e-8));
  rates.decay = static_cast<T>(decoupled ? 0 : decay);
  rates.keep = static_cast<T>(decoupled ? 1 - lr * decay : 1);
  rates.new1 = static_cast<T>(1 - beta1);
  rates.beta2 = static_cast<T>(beta2);
  rates.new2 = static_cast<T>(1 - beta2);
  return rates;
}

template <typename T>
void update(const Tensors<T>& t, int64_t n, const SgdRates<T>& rates) {
  sgd(t.p, t.g, t.next_p, n, rates);
}

template <typename T>
void update(const Tensors<T>& t, int64_t n, const MomentumRates<T>& rates) {
  (rates.nesterov ? nesterov<T> : momentum<T>)(t.p, t.g, t.moments[0], t.next_p, t.next_moments[0], n, rates);
}

template <typename T>
void update(const Tensors<T>& t, int64_t n, const AdamRates<T>& rates) {
  adam(t.p, t.g, t.moments[0], t.moments[1], t.next_p, t.next_moments[0], t.next_moments[1], n, rates);
}

// Outputs become what the inputs were, bit for bit.
template <typename T>
void keep(const Tensors<T>& t, int64_t n, int moments) {
  if (t.p != t.next_p) std::copy_n(t.p, n, t.next_p);
  for (int k = 0; k < moments; ++k) {
    if (t.moments[k] != t.next_moments[k]) std::copy_n(t.moments[k], n, t.next_moments[k]);
  }
}

template <typename T, const StepOperands& kOperands, auto kRates>
class StepKernel final : public Kernel {
 public:
  explicit StepKernel(const KernelSpec& spec) : spec_(spec), count_(StepOperands::count(spec.attributes)) {
    for (std::size_t i = 0; i < count_; ++i) elements_.append(spec.outputs[i].count());
  }

  void run(const KernelContext& context) override {
    const void* apply = context.inputs[kOperands.apply()];
    const auto rates = kRates(spec_, context);
    if (!apply || *static_cast<const bool*>(apply)) {
      for_each_piece(context, [&](const Tensors<T>& tensors, int64_t n) { update(tensors, n, rates); });
    } else {
      for_each_piece(context, [](const Tensors<T>& tensors, int64_t n) { keep(tensors, n, kOperands.moments); });
    }
  }

  std::string describe() const override { return "flat"; }

 private:
  // Calls body(tensors, n) for pieces of single tensors that together cover all elements, on the team.
  template <typename Body>
  void for_each_piece(const KernelContext& context, Body&& body) const {
    parallel_for(elements_.size(), kGrain, [&](int64_t begin, int64_t end) {
      elements_.visit(begin, end,
                      [&](std::size_t i, int64_t offset, int64_t n) { body(tensors_at(context, i, offset), n); });
    });
  }

  Tensors<T> tensors_at(const KernelContext& context, std::size_t i, int64_t offset) const {
    Tensors<T> tensors{};
    tensors.p = context.in<T>(kOperands.parameter(i)) + offset;
    tensors.g = context.in<T>(kOperands.gradient(i, count_)) + offset;
    tensors.next_p = context.out<T>(i) + offset;
    for (int k = 0; k < kOperands.moments; ++k) {
      tensors.moments[k] = context.in<T>(kOperands.moment(k, i, count_)) + offset;
      tensors.next_moments[k] = context.out<T>(static_cast<std::size_t>(k + 1) * count_ + i) + offset;
    }
    return tensors;
  }

  KernelSpec spec_;
  std::size_t count_;
  FlatRange elements_;
};

// Their first input, the learning rate, is float64 whatever the parameters: registered under it, chosen by the outputs.
template <typename T, const StepOperands& kOperands, auto kRates>
KernelDef kernel(const OpId& op) {
  return {.op = op, .dtype = DType::kFloat64, .accepts = first_output_is<T>, .make = [](const KernelSpec& spec) {
            return std::unique_ptr<Kernel>(new StepKernel<T, kOperands, kRates>(spec));
          }};
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(kernel<T, kSgdOperands, sgd_rates<T>>(kSgdStep));
  registry.add(kernel<T, kMomentumOperands, momentum_rates<T>>(kMomentumStep));
  registry.add(kernel<T, kAdamOperands, adam_rates<T>>(kAdamStep));
}

}  // namespace

void register_optimizers_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
}

}  // namespace onward
