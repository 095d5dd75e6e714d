// onward::CorrectCounts: how many labels are the highest score, and how many are among the five highest. Scores are
// [N, C, d1..dk], labels [N, d1..dk]; a label equal to the attribute `ignore_index` is not counted.
//
// Of equal scores the lowest class wins. A NaN counts as the highest score of all but is never correct, so that a model
// that has diverged does not look right.
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  Shape wanted = context.shape(0);
  context.require(wanted.size() >= 2, "scores of shape [N, C, ...]", to_string(wanted));
  wanted.erase(wanted.begin() + 1);
  const TensorType& labels = context.type(1);
  context.require((labels.dtype == DType::kInt32 || labels.dtype == DType::kInt64) && labels.shape() == wanted,
                  "int32 or int64 labels of shape " + to_string(wanted), labels.text());
  context.set(0, DType::kInt64, {});
  context.set(1, DType::kInt64, {});
}

void distribute(DistributionContext& context) {
  const bool split = context.input(0) == Distribution::kBatchSplit || context.input(1) == Distribution::kBatchSplit;
  if (split) {
    context.set_all(Distribution::kPartial);
  } else {
    context.pointwise();
  }
}

std::vector<SampleCase> samples() {
  return {
      {.name = "ten_classes",
       .inputs = {SampleInput{.shape = {8, 10}},
                  SampleInput{.shape = {8}, .low = 0, .high = 9, .dtype = DType::kInt64}},
       .outputs = 2},
      {.name = "map",
       .inputs = {SampleInput{.shape = {2, 7, 3}},
                  SampleInput{.shape = {2, 3}, .low = -1, .high = 6, .dtype = DType::kInt32}},
       .outputs = 2,
       .attributes = {{"ignore_index", int64_t{-1}}}},
      {.name = "three_classes",
       .inputs = {SampleInput{.shape = {4, 3}}, SampleInput{.shape = {4}, .low = 0, .high = 2, .dtype = DType::kInt64}},
       .outputs = 2}};
}

}  // namespace

void register_correct_counts(Registry& registry) {
  registry.add(OpDef{.id = {kOnwardDomain, "CorrectCounts"},
                     .summary = "labels that are the highest score, and among the five highest",
                     .inputs = {2, 2},
                     .outputs = {2, 2},
                     .infer = infer,
                     .distribute = distribute,
                     .samples = samples,
                     .precision = PrecisionClass::kAccurate});
}

}  // namespace onward
