// The ops that communicate. `collective` is the id by which every replica runs them in the same order.
#include <fmt/format.h>

#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

const OpId kAllReduce{kOnwardDomain, "AllReduce"};
const OpId kAllGather{kOnwardDomain, "AllGather"};

bool can_be_summed(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kInt64;
}

void infer_all_reduce(InferContext& context) {
  context.require(context.input_count() == context.output_count(), "as many outputs as inputs",
                  fmt::format("{} and {}", context.output_count(), context.input_count()));
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    context.require(can_be_summed(context.dtype(i)), "float32, float64 or int64", dtype_name(context.dtype(i)));
    context.set(i, context.dtype(i), context.shape(i));
  }
}

// [replicas, shape of x...]
void infer_all_gather(InferContext& context) {
  const int64_t replicas = context.attributes().get_int("replicas");
  context.require(replicas >= 1, "at least one replica", std::to_string(replicas));
  Shape shape = context.shape(0);
  shape.insert(shape.begin(), replicas);
  context.set(0, context.dtype(0), std::move(shape));
}

// Only what is partial is summed: anything else would be multiplied by the number of replicas.
void distribute_all_reduce(DistributionContext& context) {
  for (std::size_t i = 0; i < context.node().inputs().size(); ++i) {
    if (context.input(i) != Distribution::kPartial) {
      context.fail(fmt::format("adds '{}' over the replicas although it is {}, not partial",
                               context.node().input(i)->name(), distribution_name(context.input(i))));
    }
  }
  context.set_all(Distribution::kReplicated);
}

void distribute_all_gather(DistributionContext& context) {
  if (context.input(0) == Distribution::kPartial) context.fail("gathers a sum before it is added over the replicas");
  context.set_all(Distribution::kReplicated);
}

std::vector<InPlacePair> each_in_place(const Node& node) {
  std::vector<InPlacePair> pairs;
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) pairs.push_back({i, i});
  return pairs;
}

std::vector<SampleCase> all_reduce_samples() {
  return {{.name = "one", .inputs = {SampleInput{.shape = {5}}}, .attributes = {{"collective", int64_t{0}}}},
          {.name = "bucket",
           .inputs = {SampleInput{.shape = {2, 3}}, SampleInput{.shape = {}}, SampleInput{.shape = {17}}},
           .outputs = 3,
           .attributes = {{"collective", int64_t{1}}}},
          {.name = "counts",
           .inputs = {SampleInput{.shape = {}, .low = 0, .high = 9, .dtype = DType::kInt64}},
           .attributes = {{"collective", int64_t{2}}}}};
}

std::vector<SampleCase> all_gather_samples() {
  return {{.name = "one replica",
           .inputs = {SampleInput{.shape = {7}, .exact_type = true}},
           .attributes = {{"collective", int64_t{0}}, {"replicas", int64_t{1}}}}};
}

}  // namespace

void register_collectives(Registry& registry) {
  registry.add(OpDef{.id = kAllReduce,
                     .summary = "the sum over all replicas of each operand",
                     .inputs = {1, kVariadic},
                     .outputs = {1, kVariadic},
                     .infer = infer_all_reduce,
                     .distribute = distribute_all_reduce,
                     .samples = all_reduce_samples,
                     .in_place_of = each_in_place,
                     .communicates = true,
                     .constant_folds = false,
                     .precision = PrecisionClass::kAccurate});
  registry.add(OpDef{.id = kAllGather,
                     .summary = "the values of all replicas, in rank order",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer_all_gather,
                     .distribute = distribute_all_gather,
                     .samples = all_gather_samples,
                     .communicates = true,
                     .constant_folds = false,
                     .precision = PrecisionClass::kAccurate});
}

}  // namespace onward
