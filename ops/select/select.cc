// onward::Select: one of two tensors as a whole, by a flag: a step that is skipped keeps the old value.
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  context.require(context.type(0) == TensorType(DType::kBool, Shape{}), "a bool scalar as flag",
                  context.type(0).text());
  context.require(context.type(1) == context.type(2), "two tensors of one type",
                  context.type(1).text() + " and " + context.type(2).text());
  context.set(0, context.dtype(1), context.shape(1));
}

std::vector<SampleCase> samples() {
  std::vector<SampleCase> cases;
  for (const bool flag : {true, false}) {
    cases.push_back({.name = flag ? "first" : "second",
                     .inputs = {SampleInput{.shape = {}, .dtype = DType::kBool, .values = {flag ? 1.0 : 0.0}},
                                SampleInput{.shape = {2, 3, 4, 5}}, SampleInput{.shape = {2, 3, 4, 5}}}});
  }
  return cases;
}

}  // namespace

void register_select(Registry& registry) {
  registry.add(OpDef{.id = {kOnwardDomain, "Select"},
                     .summary = "a if the flag is set, else b",
                     .inputs = {3, 3},
                     .outputs = {1, 1},
                     .infer = infer,
                     .samples = samples,
                     .in_place = {{1, 0}, {2, 0}},
                     .constant_folds = false});
}

}  // namespace onward
