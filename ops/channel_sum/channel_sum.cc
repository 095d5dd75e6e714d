// ChannelSum: the sum over all dimensions but the second, the gradient of a bias per channel.
#include <fmt/format.h>

#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  const Shape shape = context.shape(0);
  context.require(shape.size() >= 2, "an input of rank 2 or more", to_string(shape));
  context.set(0, context.dtype(0), {shape[1]});
}

void distribute(DistributionContext& context) {
  const Distribution input = context.input(0);
  context.set(0, input == Distribution::kBatchSplit ? Distribution::kPartial : input);
}

double flops(const Node& node) { return static_cast<double>(element_count(node.input(0)->type.shape())); }

std::vector<SampleCase> samples() {
  return {{.name = "image", .inputs = {SampleInput{.shape = {2, 3, 4, 5}}}},
          {.name = "many-pixels", .inputs = {SampleInput{.shape = {8, 5, 40, 30}}}},
          {.name = "wide", .inputs = {SampleInput{.shape = {3, 70, 3, 5}}}},
          {.name = "matrix", .inputs = {SampleInput{.shape = {5, 7}}}},
          {.name = "sequence", .inputs = {SampleInput{.shape = {2, 3, 9}}}},
          {.name = "empty-batch", .inputs = {SampleInput{.shape = {0, 3, 4, 4}}}}};
}

}  // namespace

void register_channel_sum(Registry& registry) {
  registry.add(OpDef{.id = {kOnwardDomain, "ChannelSum"},
                     .summary = "sum over all dimensions but the second",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .distribute = distribute,
                     .flops = flops,
                     .samples = samples,
                     .precision = PrecisionClass::kAccurate});
}

}  // namespace onward
