#include <cmath>
#include <limits>

#include "ops/core/index_reader.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

// How many classes come before class `label`.
template <typename T>
int64_t rank_of(const T* scores, int64_t stride, int64_t classes, int64_t label) {
  const T own = scores[label * stride];
  if (std::isnan(own)) return std::numeric_limits<int64_t>::max();
  int64_t before = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const T other = scores[c * stride];
    before += std::isnan(other) || other > own || (other == own && c < label);
  }
  return before;
}

template <typename T>
void correct_counts(const KernelSpec& spec, const KernelContext& context) {
  const Shape& shape = spec.inputs[0].shape;
  const int64_t classes = shape[1], inner = element_count({shape.begin() + 2, shape.end()});
  const IndexReader labels(context.inputs[1], spec.inputs[1].dtype);
  const bool ignores = spec.attributes.has("ignore_index");
  const int64_t ignored = spec.attributes.get_int("ignore_index", 0);
  int64_t top1 = 0, top5 = 0;
  for (int64_t i = 0; i < spec.inputs[1].count(); ++i) {
    const int64_t label = labels[i];
    if ((ignores && label == ignored) || label < 0 || label >= classes) continue;
    const T* scores = context.in<T>(0) + i / inner * classes * inner + i % inner;
    const int64_t rank = rank_of(scores, inner, classes, label);
    top1 += rank < 1;
    top5 += rank < 5;
  }
  *context.out<int64_t>(0) = top1;
  *context.out<int64_t>(1) = top5;
}

}  // namespace

void register_correct_counts_cpu(Registry& registry) {
  const OpId op{kOnwardDomain, "CorrectCounts"};
  registry.add(KernelDef{.op = op, .dtype = DType::kFloat32, .make = make_function_kernel<correct_counts<float>>});
  registry.add(KernelDef{.op = op, .dtype = DType::kFloat64, .make = make_function_kernel<correct_counts<double>>});
}

}  // namespace onward
