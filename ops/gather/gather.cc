// Gather: the slices of `data` along `axis` that `indices` name (negative ones count from the end), any element type.
// onward::GatherGrad adds every slice of dy to where it came from.
#include "graph/error.h"
#include "ops/core/axes.h"
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

const OpId kGatherGrad{kOnwardDomain, "GatherGrad"};

Shape gathered(const Shape& data, const Shape& indices, std::size_t axis) {
  Shape shape(data.begin(), data.begin() + static_cast<int64_t>(axis));
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), data.begin() + static_cast<int64_t>(axis) + 1, data.end());
  return shape;
}

std::size_t axis_of(const Node& node, std::size_t rank) {
  return static_cast<std::size_t>(resolve_axis(node.attributes.get_int("axis", 0), rank));
}

void infer(InferContext& context) {
  const Shape data = context.shape(0);
  const DType indices = context.dtype(1);
  context.require(indices == DType::kInt32 || indices == DType::kInt64, "int32 or int64 indices", dtype_name(indices));
  context.set(0, context.dtype(0), gathered(data, context.shape(1), axis_of(context.node(), data.size())));
}

void normalise(NormaliseContext& context) {
  Node& node = context.node();
  node.attributes.set("axis", static_cast<int64_t>(axis_of(node, node.input(0)->type.shape().size())));
}

void gradient(GradientContext& context) {
  const Shape shape = context.x(0)->type.shape();
  context.set_dx(
      0, context.emit(kGatherGrad, {context.dy(0), context.x(1)},
                      {{"axis", static_cast<int64_t>(axis_of(context.node(), shape.size()))}, {"input_shape", shape}}));
}

void distribute(DistributionContext& context) {
  const Node& node = context.node();
  const std::size_t axis = axis_of(node, node.input(0)->type.shape().size());
  if (axis == 0 && context.input(0) == Distribution::kBatchSplit) {
    context.fail("takes rows of a batch that is split over the replicas");
  }
  if (axis != 0 && context.input(1) == Distribution::kBatchSplit) {
    context.fail("puts the rows of a batch, that is split over the replicas, behind dimension 0");
  }
  if (context.input(1) == Distribution::kReplicated) {
    context.set_all(context.input(0));  // a choice of elements is linear
  } else {
    context.pointwise();
  }
}

std::vector<SampleCase> samples() {
  const SampleInput rows{.shape = {2, 3}, .low = -4, .high = 3, .dtype = DType::kInt64};
  return {{.name = "rows",
           .inputs = {SampleInput{.shape = {4, 3}}, rows},
           .attributes = {{"axis", int64_t{0}}},
           .gradients = {0}},
          {.name = "scalar_index",
           .inputs = {SampleInput{.shape = {2, 4, 3}},
                      SampleInput{.shape = {}, .low = 0, .high = 3, .dtype = DType::kInt32}},
           .attributes = {{"axis", int64_t{1}}},
           .gradients = {0}},
          {.name = "last",
           .inputs = {SampleInput{.shape = {2, 4}}, rows},
           .attributes = {{"axis", int64_t{1}}},
           .gradients = {0}},
          {.name = "dimension",
           .inputs = {SampleInput{.shape = {4}, .low = 0, .high = 9, .dtype = DType::kInt64},
                      SampleInput{.shape = {}, .dtype = DType::kInt64, .values = {2}}},
           .attributes = {{"axis", int64_t{0}}}}};
}

void infer_grad(InferContext& context) {
  context.set(0, context.dtype(0), context.attributes().get_ints("input_shape"));
}

void distribute_grad(DistributionContext& context) {
  const bool from_rows =
      context.node().attributes.get_int("axis") == 0 &&
      (context.input(0) == Distribution::kBatchSplit || context.input(1) == Distribution::kBatchSplit);
  if (from_rows) {
    context.set_all(Distribution::kPartial);
  } else {
    context.set_all(context.input(0));
  }
}

std::vector<SampleCase> grad_samples() {
  return {
      {.name = "repeated",
       .inputs = {SampleInput{.shape = {3, 2}},
                  SampleInput{.shape = {3}, .dtype = DType::kInt64, .values = {1, -1, 1}}},
       .attributes = {{"axis", int64_t{0}}, {"input_shape", Shape{4, 2}}}},
      {.name = "last",
       .inputs = {SampleInput{.shape = {2, 3}}, SampleInput{.shape = {3}, .low = 0, .high = 3, .dtype = DType::kInt64}},
       .attributes = {{"axis", int64_t{1}}, {"input_shape", Shape{2, 4}}}}};
}

}  // namespace

void register_gather(Registry& registry) {
  registry.add(OpDef{.id = {"", "Gather"},
                     .versions = {1, 11, 13},
                     .summary = "slices along an axis by index",
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .normalise = normalise,
                     .distribute = distribute,
                     .samples = samples});
  registry.add(OpDef{.id = kGatherGrad,
                     .summary = "gradient of Gather: adds slices to where they came from",
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .infer = infer_grad,
                     .distribute = distribute_grad,
                     .samples = grad_samples});
}

}  // namespace onward
