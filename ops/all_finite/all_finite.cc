// onward::AllFinite: whether no element of any operand is infinite or NaN.
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    context.require(context.dtype(i) == context.dtype(0), "operands of one type, " + dtype_name(context.dtype(0)),
                    dtype_name(context.dtype(i)));
  }
  context.set(0, DType::kBool, {});
}

// Every replica must come to the same answer.
void distribute(DistributionContext& context) {
  for (std::size_t i = 0; i < context.node().inputs().size(); ++i) {
    if (context.input(i) != Distribution::kReplicated) {
      context.fail("asks about '" + context.node().input(i)->name() + "', which is " +
                   distribution_name(context.input(i)) + ", not the same on every replica");
    }
  }
  context.set_all(Distribution::kReplicated);
}

std::vector<SampleCase> samples() {
  const SampleInput vector{.shape = {37}}, scalar{.shape = {}}, image{.shape = {2, 3, 4, 5}};
  return {{.name = "finite", .inputs = {vector, scalar, image}}, {.name = "one", .inputs = {image}}};
}

}  // namespace

void register_all_finite(Registry& registry) {
  registry.add(OpDef{.id = {kOnwardDomain, "AllFinite"},
                     .summary = "whether every element of every operand is finite",
                     .inputs = {1, kVariadic},
                     .outputs = {1, 1},
                     .infer = infer,
                     .distribute = distribute,
                     .samples = samples,
                     .constant_folds = false,
                     .precision = PrecisionClass::kAccurate});
}

}  // namespace onward
