// The ops that batch normalization is lowered to, synchronised or not, forward and backward:
//   BatchNormStatistics -> (AllGather) -> BatchNormFinalize -> BatchNormApply
//   BatchNormGradReduce -> (AllReduce) -> BatchNormGradApply, BatchNormGradParameters
// Fusing adds the residual addition and the Relu to Apply, and their gradients to the two backward ops.
#include "ops/batch_norm_lowered/batch_norm_lowered.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "ops/batch_norm_lowered/samples.h"
#include "ops/batch_normalization/channels.h"
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {

ReluMask relu_mask(const Attributes& attributes) {
  const std::string mask = attributes.get_string("mask", "none");
  if (mask == "none") return ReluMask::kNone;
  if (mask == "recompute") return ReluMask::kRecompute;
  if (mask == "y") return ReluMask::kOutput;
  throw Error(ErrorKind::kModel, fmt::format("expected mask \"none\", \"recompute\" or \"y\", found \"{}\"", mask));
}

namespace {

int64_t channels_of(const Shape& shape) { return ChannelView(shape).channels; }

void require_type(const InferContext& context, std::size_t input, const TensorType& expected) {
  context.require(context.type(input) == expected, fmt::format("{} as input {}", expected.text(), input),
                  context.type(input).text());
}

void require_present(const InferContext& context, std::size_t input, const char* why) {
  context.require(context.has_input(input), fmt::format("input {} {}", input, why), "none");
}

// Inputs [first, last) that are present are channel vectors of the type of input `x`.
void require_channel_vectors(const InferContext& context, std::size_t x, std::size_t first, std::size_t last) {
  const TensorType vector(context.dtype(x), Shape{channels_of(context.shape(x))});
  for (std::size_t i = first; i < last; ++i) {
    if (context.has_input(i)) require_type(context, i, vector);
  }
}

void infer_statistics(InferContext& context) {
  context.require(!context.shape(0).empty(), "an input of rank 1 or more", "a scalar");
  context.set(0, DType::kFloat64, {2 * channels_of(context.shape(0)) + 1});
}

void infer_finalize(InferContext& context) {
  const Shape stats = context.shape(0), vector = context.shape(1);
  context.require(vector.size() == 1, "a channel vector as input 1", context.type(1).text());
  require_type(context, 2, context.type(1));
  const bool shape_fits = !stats.empty() && stats.size() <= 2 && stats.back() == 2 * vector[0] + 1;
  context.require(context.dtype(0) == DType::kFloat64 && shape_fits,
                  fmt::format("statistics float64[{0}] or float64[replicas,{0}]", 2 * vector[0] + 1),
                  context.type(0).text());
  for (std::size_t i = 0; i < 4; ++i) context.set(i, context.dtype(1), vector);
  context.set(4, DType::kFloat64, {});
}

void infer_apply(InferContext& context) {
  require_channel_vectors(context, 0, 1, 5);
  if (context.has_input(5)) require_type(context, 5, context.type(0));
  context.set(0, context.dtype(0), context.shape(0));
}

void infer_grad_reduce(InferContext& context) {
  require_type(context, 0, context.type(1));
  require_channel_vectors(context, 1, 2, 6);
  for (const std::size_t i : {6, 7}) {
    if (context.has_input(i)) require_type(context, i, context.type(1));
  }
  const ReluMask mask = relu_mask(context.attributes());
  if (mask == ReluMask::kRecompute) {
    require_present(context, 4, "(scale) to recompute the mask");
    require_present(context, 5, "(bias) to recompute the mask");
  }
  if (mask == ReluMask::kOutput) require_present(context, 6, "(y) for the mask");
  context.set(0, DType::kFloat64, {2 * channels_of(context.shape(1))});
  context.set(1, context.dtype(1), context.shape(1));
}

void infer_grad_apply(InferContext& context) {
  require_type(context, 0, context.type(1));
  require_channel_vectors(context, 1, 2, 5);
  require_type(context, 5, TensorType(DType::kFloat64, Shape{2 * channels_of(context.shape(1))}));
  require_type(context, 6, TensorType(DType::kFloat64, Shape{}));
  require_channel_vectors(context, 1, 7, 8);
  const ReluMask mask = relu_mask(context.attributes());
  context.require(mask != ReluMask::kOutput, "mask \"none\" or \"recompute\"", "\"y\"");
  if (mask == ReluMask::kRecompute) require_present(context, 7, "(bias) to recompute the mask");
  context.set(0, context.dtype(1), context.shape(1));
}

void infer_grad_parameters(InferContext& context) {
  const Shape sums = context.shape(0);
  context.require(context.dtype(0) == DType::kFloat64 && sums.size() == 1 && sums[0] % 2 == 0, "sums float64[2C]",
                  context.type(0).text());
  const auto to = static_cast<DType>(context.attributes().get_int("to"));
  context.set(0, to, {sums[0] / 2});
  context.set(1, to, {sums[0] / 2});
}

void require_complete(const DistributionContext& context, std::size_t input) {
  if (context.input(input) == Distribution::kPartial) {
    context.fail(fmt::format("reads input {} before it is added over the replicas", input));
  }
}

// Statistics of a replica's rows belong to it alone until they are gathered.
void distribute_statistics(DistributionContext& context) {
  require_complete(context, 0);
  const Distribution x = context.input(0);
  context.set_all(x == Distribution::kBatchSplit ? Distribution::kLocal : x);
}

void distribute_grad_reduce(DistributionContext& context) {
  for (std::size_t i = 0; i < context.node().inputs().size(); ++i) require_complete(context, i);
  const bool split = context.input(0) == Distribution::kBatchSplit || context.input(1) == Distribution::kBatchSplit;
  context.set(0, split ? Distribution::kPartial : context.input(1));
  context.set(1, split ? Distribution::kBatchSplit : context.input(1));
}

// The sums are complete under --bn sync and partial under local statistics; either is what this replica must use.
void distribute_grad_apply(DistributionContext& context) {
  for (const std::size_t i : {0, 1, 2, 3, 4}) require_complete(context, i);
  const bool split = context.input(0) == Distribution::kBatchSplit || context.input(1) == Distribution::kBatchSplit;
  context.set_all(split ? Distribution::kBatchSplit : context.input(1));
}

void distribute_as_input(DistributionContext& context) { context.set_all(context.input(0)); }

double flops_of_output(const Node& node, double per_element, std::size_t input) {
  return per_element * static_cast<double>(element_count(node.input(input)->type.shape()));
}
double flops_statistics(const Node& node) { return flops_of_output(node, 3, 0); }
double flops_apply(const Node& node) { return flops_of_output(node, 3, 0); }
double flops_grad_reduce(const Node& node) { return flops_of_output(node, 4, 1); }
double flops_grad_apply(const Node& node) { return flops_of_output(node, 5, 1); }

}  // namespace

void register_batch_norm_lowered(Registry& registry) {
  registry.add(OpDef{.id = kBatchNormStatistics,
                     .summary = "mean, squared deviations and count per channel",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer_statistics,
                     .distribute = distribute_statistics,
                     .flops = flops_statistics,
                     .samples = batch_norm_statistics_samples,
                     .precision = PrecisionClass::kAccurate});
  registry.add(OpDef{.id = kBatchNormFinalize,
                     .summary = "joins statistics by count; next running statistics",
                     .inputs = {3, 3},
                     .outputs = {5, 5},
                     .infer = infer_finalize,
                     .samples = batch_norm_finalize_samples,
                     .in_place = {{1, 2}, {2, 3}},
                     .states = {{1, 2}, {2, 3}},
                     .precision = PrecisionClass::kAccurate});
  registry.add(OpDef{.id = kBatchNormApply,
                     .summary = "normalises; adds a residual and applies Relu if asked",
                     .inputs = {5, 6},
                     .outputs = {1, 1},
                     .infer = infer_apply,
                     .flops = flops_apply,
                     .samples = batch_norm_apply_samples,
                     .in_place = {{5, 0}, {0, 0}}});
  registry.add(OpDef{.id = kBatchNormGradReduce,
                     .summary = "sums of g and g * xhat, g = dY masked by Relu",
                     .inputs = {4, 8},
                     .outputs = {1, 2},
                     .infer = infer_grad_reduce,
                     .distribute = distribute_grad_reduce,
                     .flops = flops_grad_reduce,
                     .samples = batch_norm_grad_reduce_samples,
                     .in_place = {{0, 1}, {7, 1}, {6, 1}}});
  registry.add(OpDef{.id = kBatchNormGradApply,
                     .summary = "dX from g and its sums",
                     .inputs = {7, 8},
                     .outputs = {1, 1},
                     .infer = infer_grad_apply,
                     .distribute = distribute_grad_apply,
                     .flops = flops_grad_apply,
                     .samples = batch_norm_grad_apply_samples,
                     .in_place = {{0, 0}, {1, 0}}});
  registry.add(OpDef{.id = kBatchNormGradParameters,
                     .summary = "gradients of scale and bias from the sums",
                     .inputs = {1, 1},
                     .outputs = {2, 2},
                     .infer = infer_grad_parameters,
                     .distribute = distribute_as_input,
                     .samples = batch_norm_grad_parameters_samples,
                     .precision = PrecisionClass::kAccurate});
}

}  // namespace onward
