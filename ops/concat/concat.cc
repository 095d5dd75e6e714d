// Concat: tensors joined along one axis, any element type. Normal form: `axis` non-negative.
// onward::SliceAxis, the elements [begin, end) of one axis, is its gradient; the gradient of a slice is a Concat with
// zeros.
#include <algorithm>

#include "ops/core/axes.h"
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

const OpId kSliceAxis{kOnwardDomain, "SliceAxis"};

std::size_t axis_of(const Node& node) {
  return static_cast<std::size_t>(resolve_axis(node.attributes.get_int("axis"), node.input(0)->type.shape().size()));
}

void infer(InferContext& context) {
  Shape joined = context.shape(0);
  const std::size_t axis = axis_of(context.node());
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    Shape shape = context.shape(i);
    const bool same_rank = shape.size() == joined.size();
    const int64_t more = same_rank ? shape[axis] : 0;
    if (same_rank) shape[axis] = joined[axis];
    context.require(same_rank && shape == joined && context.dtype(i) == context.dtype(0),
                    "shapes and types that agree but for axis " + std::to_string(axis),
                    context.type(i).text() + " after " + context.type(0).text());
    joined[axis] += more;
  }
  context.set(0, context.dtype(0), joined);
}

void gradient(GradientContext& context) {
  const std::size_t axis = axis_of(context.node());
  int64_t begin = 0;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const int64_t end = begin + context.x(i)->type.shape()[axis];
    if (context.wants(i)) {
      context.set_dx(i, context.emit(kSliceAxis, {context.dy(0)},
                                     {{"axis", static_cast<int64_t>(axis)}, {"begin", begin}, {"end", end}}));
    }
    begin = end;
  }
}

void normalise(NormaliseContext& context) {
  Node& node = context.node();
  // Version 1 has a default.
  if (!node.attributes.has("axis")) node.attributes.set("axis", int64_t{1});
  node.attributes.set("axis", static_cast<int64_t>(axis_of(node)));
}

void distribute(DistributionContext& context) {
  bool partial = false, all_partial = true, split = false;
  for (std::size_t i = 0; i < context.node().inputs().size(); ++i) {
    partial |= context.input(i) == Distribution::kPartial;
    all_partial &= context.input(i) == Distribution::kPartial;
    split |= context.input(i) == Distribution::kBatchSplit;
  }
  if (split && axis_of(context.node()) == 0) context.fail("joins rows of a batch that is split over the replicas");
  // A complete part beside an incomplete one would be counted once per replica.
  if (partial && !all_partial) context.fail("joins complete values with sums that are not complete yet");
  context.pointwise(true);
}

std::vector<SampleCase> samples() {
  const SampleInput wide{.shape = {2, 3, 4}}, narrow{.shape = {2, 1, 4}};
  return {{.name = "channels",
           .inputs = {wide, narrow, wide},
           .attributes = {{"axis", int64_t{1}}},
           .gradients = {0, 1, 2}},
          {.name = "rows",
           .inputs = {SampleInput{.shape = {2, 3}}, SampleInput{.shape = {1, 3}}},
           .attributes = {{"axis", int64_t{0}}},
           .gradients = {0, 1}},
          {.name = "last",
           .inputs = {SampleInput{.shape = {2, 3}}, SampleInput{.shape = {2, 2}}},
           .attributes = {{"axis", int64_t{1}}},
           .gradients = {1}},
          {.name = "shape",
           .inputs = {SampleInput{.shape = {1}, .low = 0, .high = 9, .dtype = DType::kInt64},
                      SampleInput{.shape = {2}, .low = 0, .high = 9, .dtype = DType::kInt64}},
           .attributes = {{"axis", int64_t{0}}}}};
}

void infer_slice(InferContext& context) {
  Shape shape = context.shape(0);
  const auto axis = static_cast<std::size_t>(resolve_axis(context.attributes().get_int("axis"), shape.size()));
  const int64_t begin = context.attributes().get_int("begin"), end = context.attributes().get_int("end");
  context.require(0 <= begin && begin <= end && end <= shape[axis], "a range within " + std::to_string(shape[axis]),
                  std::to_string(begin) + " to " + std::to_string(end));
  shape[axis] = end - begin;
  context.set(0, context.dtype(0), shape);
}

void slice_gradient(GradientContext& context) {
  Shape shape = context.x(0)->type.shape();
  const auto axis = static_cast<std::size_t>(context.attributes().get_int("axis"));
  const int64_t begin = context.attributes().get_int("begin"), end = context.attributes().get_int("end");
  const auto zeros = [&](int64_t count) {
    Shape part = shape;
    part[axis] = count;
    return context.emit({kOnwardDomain, "BroadcastTo"}, {context.scalar(0, *context.dy(0))}, {{"shape", part}});
  };
  std::vector<Value*> parts;
  if (begin > 0) parts.push_back(zeros(begin));
  parts.push_back(context.dy(0));
  if (end < shape[axis]) parts.push_back(zeros(shape[axis] - end));
  context.set_dx(0,
                 parts.size() == 1 ? parts[0] : context.emit("Concat", parts, {{"axis", static_cast<int64_t>(axis)}}));
}

void distribute_slice(DistributionContext& context) {
  if (context.input(0) == Distribution::kBatchSplit && context.node().attributes.get_int("axis") == 0) {
    context.fail("takes some rows of a batch that is split over the replicas");
  }
  context.set_all(context.input(0));
}

std::vector<SampleCase> slice_samples() {
  const auto slice = [](int64_t axis, int64_t begin, int64_t end) {
    return Attributes{{"axis", axis}, {"begin", begin}, {"end", end}};
  };
  return {
      {.name = "middle", .inputs = {SampleInput{.shape = {2, 5, 3}}}, .attributes = slice(1, 1, 3), .gradients = {0}},
      {.name = "last", .inputs = {SampleInput{.shape = {2, 5}}}, .attributes = slice(1, 2, 5), .gradients = {0}},
      {.name = "rows", .inputs = {SampleInput{.shape = {3, 2}}}, .attributes = slice(0, 0, 2), .gradients = {0}}};
}

}  // namespace

void register_concat(Registry& registry) {
  registry.add(OpDef{.id = {"", "Concat"},
                     .versions = {1, 4, 11, 13},
                     .summary = "tensors joined along an axis",
                     .inputs = {1, kVariadic},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .normalise = normalise,
                     .distribute = distribute,
                     .samples = samples});
  registry.add(OpDef{.id = kSliceAxis,
                     .summary = "a range of one axis",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer_slice,
                     .gradient = slice_gradient,
                     .distribute = distribute_slice,
                     .samples = slice_samples});
}

}  // namespace onward
