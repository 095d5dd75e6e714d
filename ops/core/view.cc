#include "ops/core/view.h"

#include "ops/core/copy.h"
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"

namespace onward {

void view_gradient(GradientContext& context) {
  context.set_dx(0, context.emit("Reshape", {context.dy(0)}, {{"shape", context.x(0)->type.shape()}}));
}

void distribute_view(DistributionContext& context) {
  const Distribution distribution = context.input(0);
  if (distribution == Distribution::kBatchSplit) {
    const Shape from = context.node().input(0)->type.shape();
    const Shape to = context.node().output(0)->type.shape();
    // Shares joined along dimension 0 are the whole batch as long as every row of the input becomes whole rows.
    const bool rows_stay = !from.empty() && !to.empty() && (from[0] == 0 ? to[0] == 0 : to[0] % from[0] == 0);
    if (!rows_stay)
      context.fail("moves the batch away from dimension 0 (" + to_string(from) + " -> " + to_string(to) + ")");
  }
  context.set_all(distribution);
}

namespace {

void copy(const KernelSpec& spec, const KernelContext& context) {
  parallel_copy(context.inputs[0], context.outputs[0], spec.outputs[0].bytes());
}

}  // namespace

KernelDef view_kernel(const OpId& op) {
  return {.op = op, .dtype = DType::kUndefined, .make = make_function_kernel<copy>};
}

}  // namespace onward
