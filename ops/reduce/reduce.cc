// ReduceSum, ReduceMean, ReduceMax, ReduceMin. Normal form: attributes `axes` (ascending, non-negative; empty: all) and
// `keepdims`. The largest and smallest element send their gradient to the first place, in row-major order, where they
// occur.
//
// Over the rows of a batch that is split, a sum is a partial one; the other reductions have no meaning for one replica
// alone.
#include <algorithm>

#include "ops/core/axes.h"
#include "ops/core/batch_dependence.h"
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

const OpId kExtremumGrad{kOnwardDomain, "ReduceExtremumGrad"};

std::vector<int64_t> reduced_axes(const Attributes& attributes, std::size_t rank) {
  std::vector<int64_t> axes = resolve_axes(attributes.get_ints("axes", {}), rank);
  if (axes.empty()) {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

// The shape with reduced dimensions of size 1, or without them.
Shape reduced(const Shape& shape, const std::vector<int64_t>& axes, bool keep) {
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool gone = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
    if (!gone || keep) result.push_back(gone ? 1 : shape[i]);
  }
  return result;
}

void infer(InferContext& context) {
  const Shape shape = context.shape(0);
  const std::vector<int64_t> axes = reduced_axes(context.attributes(), shape.size());
  context.set(0, context.dtype(0), reduced(shape, axes, context.attributes().get_int("keepdims", 1) != 0));
}

void normalise(NormaliseContext& context) {
  Node& node = context.node();
  context.input_to_ints(1, "axes");
  Attributes& attributes = node.attributes;
  if (attributes.get_int("noop_with_empty_axes", 0) != 0 && attributes.get_ints("axes", {}).empty()) {
    context.graph().set_op(node, {"", "Identity"});
    attributes = Attributes{};
    return;
  }
  const std::size_t rank = node.input(0)->type.shape().size();
  attributes = Attributes{{"axes", resolve_axes(attributes.get_ints("axes", {}), rank)},
                          {"keepdims", attributes.get_int("keepdims", 1)}};
}

// The head of an image classifier: a mean over all spatial dimensions of an image, which GlobalAveragePool takes in the
// layout that convolutions leave it in.
bool is_global_average_pool(const Node& node) {
  const TensorType& type = node.input(0)->type;
  const auto rank = static_cast<int64_t>(type.shape().size());
  if (!node.is("ReduceMean") || rank < 4 || !is_floating(type.dtype)) return false;
  const std::vector<int64_t> axes = node.attributes.get_ints("axes");
  return static_cast<int64_t>(axes.size()) == rank - 2 && axes.front() == 2;
}

void normalise_mean(NormaliseContext& context) {
  normalise(context);
  Node& node = context.node();
  if (!is_global_average_pool(node)) return;
  Graph& graph = context.graph();
  if (node.attributes.get_int("keepdims") != 0) {
    graph.set_op(node, {"", "GlobalAveragePool"});
    node.attributes = Attributes{};
    return;
  }
  const Shape shape = node.input(0)->type.shape();
  Node& pool =
      graph.add_node({"", "GlobalAveragePool"}, {node.input(0)}, {node.output(0)->name() + ".pooled"}, {}, &node);
  pool.name = node.name;
  pool.output(0)->type = TensorType(node.input(0)->type.dtype, reduced(shape, node.attributes.get_ints("axes"), true));
  graph.set_op(node, {"", "Reshape"});
  graph.set_inputs(node, {pool.output(0)});
  node.attributes = Attributes{{"shape", Shape{shape[0], shape[1]}}};
}

bool over_rows(const Node& node) {
  const std::size_t rank = node.input(0)->type.shape().size();
  return rank > 0 && reduced_axes(node.attributes, rank).front() == 0;
}

// dy in the shape of x.
Value* spread(GradientContext& context, Value* dy) {
  const Value& x = *context.x(0);
  const Shape shape = x.type.shape();
  const Shape kept = reduced(shape, reduced_axes(context.attributes(), shape.size()), true);
  if (dy->type.shape() != kept) dy = context.emit("Reshape", {dy}, {{"shape", kept}});
  Attributes attributes{{"shape", shape}};
  if (over_rows(context.node()) && depends_on_batch(x)) attributes.set("batch", int64_t{1});
  return context.emit({kOnwardDomain, "BroadcastTo"}, {dy}, attributes);
}

void sum_gradient(GradientContext& context) { context.set_dx(0, spread(context, context.dy(0))); }

void mean_gradient(GradientContext& context) {
  const int64_t from = element_count(context.x(0)->type.shape()), to = element_count(context.y(0)->type.shape());
  Value* share = context.scalar(from == 0 ? 0 : static_cast<double>(to) / static_cast<double>(from), *context.dy(0));
  context.set_dx(0, spread(context, context.emit("Mul", {context.dy(0), share})));
}

void extremum_gradient(GradientContext& context) {
  context.set_dx(0, context.emit(kExtremumGrad, {context.dy(0), context.x(0), context.y(0)}, context.attributes()));
}

void distribute_sum(DistributionContext& context) {
  if (context.input(0) == Distribution::kBatchSplit && over_rows(context.node())) {
    context.set_all(Distribution::kPartial);
  } else {
    context.set_all(context.input(0));
  }
}

void distribute_mean(DistributionContext& context) {
  if (context.input(0) == Distribution::kBatchSplit && over_rows(context.node())) {
    context.fail("is a mean over the rows of a batch that is split over the replicas");
  }
  context.set_all(context.input(0));
}

void distribute_extremum(DistributionContext& context) {
  if (context.input(0) == Distribution::kBatchSplit && over_rows(context.node())) {
    context.fail("compares the rows of a batch that is split over the replicas");
  }
  context.pointwise();
}

// Linear in dy.
void distribute_extremum_grad(DistributionContext& context) { context.pointwise(true); }

Attributes over(const Shape& axes, int64_t keepdims) { return {{"axes", axes}, {"keepdims", keepdims}}; }

std::vector<SampleCase> samples() {
  const std::vector<std::optional<SampleInput>> image{SampleInput{.shape = {2, 3, 4, 5}}};
  return {{.name = "spatial", .inputs = image, .attributes = over({2, 3}, 1), .gradients = {0}},
          {.name = "spatial_dropped", .inputs = image, .attributes = over({2, 3}, 0), .gradients = {0}},
          {.name = "all_but_channels", .inputs = image, .attributes = over({0, 2, 3}, 0), .gradients = {0}},
          {.name = "channels", .inputs = image, .attributes = over({1}, 1), .gradients = {0}},
          {.name = "rows", .inputs = {SampleInput{.shape = {7, 70}}}, .attributes = over({0}, 0), .gradients = {0}},
          {.name = "all", .inputs = image, .attributes = over({}, 0), .gradients = {0}},
          {.name = "line", .inputs = {SampleInput{.shape = {37}}}, .attributes = over({0}, 1), .gradients = {0}},
          {.name = "scalar", .inputs = {SampleInput{.shape = {}}}, .attributes = over({}, 1), .gradients = {0}}};
}

std::vector<SampleCase> samples_and_integers() {
  std::vector<SampleCase> list = samples();
  list.push_back({.name = "integers",
                  .inputs = {SampleInput{.shape = {3, 4}, .low = -9, .high = 9, .dtype = DType::kInt64}},
                  .attributes = over({1}, 0)});
  list.push_back({.name = "int32",
                  .inputs = {SampleInput{.shape = {3, 4}, .low = -9, .high = 9, .dtype = DType::kInt32}},
                  .attributes = over({0}, 1)});
  return list;
}

void infer_extremum_grad(InferContext& context) { context.set(0, context.dtype(1), context.shape(1)); }

std::vector<SampleCase> extremum_grad_samples() {
  return {{.name = "ties",
           .inputs = {SampleInput{.shape = {2, 1}}, SampleInput{.shape = {2, 3}, .values = {1, 2, 2, 3, 3, 0}},
                      SampleInput{.shape = {2, 1}, .values = {2, 3}}},
           .attributes = over({1}, 1)}};
}

// What all reductions share.
OpDef reduction(const char* name, std::vector<int> versions, const char* summary) {
  return OpDef{.id = {"", name},
               .versions = std::move(versions),
               .summary = summary,
               .inputs = {1, 1},
               .outputs = {1, 1},
               .infer = infer,
               .normalise = normalise,
               .samples = samples,
               .precision = PrecisionClass::kAccurate};
}

OpDef extremum(const char* name, const char* summary) {
  OpDef def = reduction(name, {1, 11, 12, 13, 18, 20}, summary);
  def.gradient = extremum_gradient;
  def.distribute = distribute_extremum;
  def.samples = samples_and_integers;
  return def;
}

}  // namespace

void register_reduce(Registry& registry) {
  OpDef sum = reduction("ReduceSum", {1, 11, 13}, "sum over axes");
  sum.gradient = sum_gradient;
  sum.distribute = distribute_sum;
  sum.samples = samples_and_integers;
  registry.add(std::move(sum));

  OpDef mean = reduction("ReduceMean", {1, 11, 13, 18}, "mean over axes");
  mean.gradient = mean_gradient;
  mean.distribute = distribute_mean;
  mean.normalise = normalise_mean;
  registry.add(std::move(mean));

  registry.add(extremum("ReduceMax", "largest element over axes"));
  registry.add(extremum("ReduceMin", "smallest element over axes"));
  registry.add(OpDef{.id = kExtremumGrad,
                     .summary = "gradient of ReduceMax and ReduceMin from dy, x and y",
                     .inputs = {3, 3},
                     .outputs = {1, 1},
                     .infer = infer_extremum_grad,
                     .distribute = distribute_extremum_grad,
                     .samples = extremum_grad_samples});
}

}  // namespace onward
