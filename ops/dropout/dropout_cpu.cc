#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/random.h"
#include "ops/core/copy.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void inference(const KernelSpec& spec, const KernelContext& context) {
  parallel_copy(context.inputs[0], context.outputs[0], spec.outputs[0].bytes());
  if (spec.has_output(1) && spec.outputs[1].bytes()) std::memset(context.outputs[1], 1, spec.outputs[1].bytes());
}

// Which elements stay: those whose word is at least ratio * 2^32.
struct Rule {
  RandomStream stream;
  uint64_t step;
  uint64_t first;  // element of the global batch that is element 0 here
  uint64_t threshold;
  double scale;

  Rule(const KernelSpec& spec, const KernelContext& context)
      : stream(static_cast<uint64_t>(spec.attributes.get_int("seed", 0)), RandomPurpose::kDropout,
               static_cast<uint64_t>(spec.attributes.get_int("site", 0))),
        step(static_cast<uint64_t>(*context.in<int64_t>(1))) {
    const Shape& shape = spec.inputs[0].shape;
    const int64_t row = shape.empty() ? 1 : element_count({shape.begin() + 1, shape.end()});
    first = spec.has_input(2) ? static_cast<uint64_t>(*context.in<int64_t>(2) * row) : 0;
    const double ratio = spec.attributes.get_double("ratio");
    threshold = static_cast<uint64_t>(std::ldexp(ratio, 32));
    scale = ratio < 1 ? 1 / (1 - ratio) : 0;
  }
};

constexpr int64_t kWords = 4;  // elements that share a block of random words

template <typename T>
void train_range(const Rule& rule, const T* x, T* y, T* mask, int64_t begin, int64_t end) {
  const T scale = static_cast<T>(rule.scale);
  RandomBlock block{};
  for (int64_t i = begin; i < end; ++i) {
    const uint64_t element = rule.first + static_cast<uint64_t>(i);
    if (i == begin || element % kWords == 0) block = rule.stream.block(rule.step, element / kWords);
    const bool kept = block[element % kWords] >= rule.threshold;
    y[i] = kept ? x[i] * scale : T(0);
    if (mask) mask[i] = kept ? scale : T(0);
  }
}

template <typename T>
void train(const KernelSpec& spec, const KernelContext& context) {
  constexpr int64_t kGrain = 4096;
  const Rule rule(spec, context);
  T* mask = optional_output<T>(spec, context, 1);
  parallel_for(spec.outputs[0].count(), kGrain, [&](int64_t begin, int64_t end) {
    train_range(rule, context.in<T>(0), context.out<T>(0), mask, begin, end);
  });
}

}  // namespace

void register_dropout_cpu(Registry& registry) {
  const OpId op{kOnwardDomain, "DropoutTrain"};
  registry.add(KernelDef{.op = {"", "Dropout"}, .dtype = DType::kUndefined, .make = make_function_kernel<inference>});
  registry.add(KernelDef{.op = op, .dtype = DType::kFloat32, .make = make_function_kernel<train<float>>});
  registry.add(KernelDef{.op = op, .dtype = DType::kFloat64, .make = make_function_kernel<train<double>>});
}

}  // namespace onward
