// BatchNormalization, plain and synchronised over replicas. Normal form: that of opset 15, inputs X, scale, B, mean,
// var, attributes epsilon, momentum, training_mode.
//   training_mode 0: Y
//   training_mode 1: Y, running_mean, running_var, and two outputs that backward reads: saved_mean, saved_inv_std
// The running variance takes the population variance, as the standard says; attribute `unbiased` gives PyTorch's rule.
// The synchronised form has the same operands with statistics over all replicas; a pass always lowers it, so it has no
// kernel.
#include "ops/batch_normalization/batch_normalization.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "ops/batch_normalization/channels.h"
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

constexpr std::size_t kOutputs = 5;

bool is_training(const Attributes& attributes) { return attributes.get_int("training_mode", 0) != 0; }

// Inputs [first, last) are vectors with one number per channel, of X's type.
void require_channel_vectors(InferContext& context, std::size_t x, std::size_t first, std::size_t last) {
  context.require(!context.shape(x).empty(), "an input of rank 1 or more", "a scalar");
  const TensorType expected(context.dtype(x), Shape{ChannelView(context.shape(x)).channels});
  for (std::size_t i = first; i < last; ++i) {
    context.require(context.type(i) == expected,
                    fmt::format("{} as input {}, one number per channel", expected.text(), i), context.type(i).text());
  }
}

void infer_training(InferContext& context) {
  require_channel_vectors(context, 0, 1, 5);
  context.set(0, context.dtype(0), context.shape(0));
  for (std::size_t i = 1; i < kOutputs; ++i) context.set(i, context.dtype(0), context.shape(1));
}

void infer(InferContext& context) {
  infer_training(context);
  if (is_training(context.attributes())) return;
  for (std::size_t i = 1; i < context.output_count(); ++i) {
    context.require(context.node().output(i) == nullptr, "one output in inference form (training_mode 0)",
                    fmt::format("output {} too", i));
  }
}

// (dY, X, scale, two channel vectors) -> (dX, dscale, dbias)
void infer_grad(InferContext& context) {
  require_channel_vectors(context, 1, 2, 5);
  context.require(context.type(0) == context.type(1), "a gradient of the type of X, " + context.type(1).text(),
                  context.type(0).text());
  context.set(0, context.dtype(1), context.shape(1));
  context.set(1, context.dtype(1), context.shape(2));
  context.set(2, context.dtype(1), context.shape(2));
}

bool has_extra_outputs(const Node& node) {
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    if (node.output(i)) return true;
  }
  return false;
}

void drop_outputs(NormaliseContext& context, std::size_t first, const char* why) {
  try {
    context.drop_outputs_from(first);
  } catch (Error& error) {
    error.note(why);
    throw;
  }
}

// What told training from inference changed with the opset: `is_test` and the number of outputs (1, 6), the number of
// outputs (7, 9), `training_mode` (14 on). Up to opset 9 the training form had two more outputs, saved mean and
// variance, that only a backward pass of the same library could read.
void normalise(NormaliseContext& context) {
  Node& node = context.node();
  if (node.attributes.get_int("spatial", 1) == 0) {
    throw Error(ErrorKind::kModel,
                "expected statistics per channel, found spatial=0 (statistics per activation), which is "
                "not supported; export the model with opset 9 or newer");
  }
  const bool is_test = node.attributes.get_int("is_test", 0) != 0;
  for (const char* name : {"spatial", "consumed_inputs", "is_test"}) node.attributes.erase(name);
  const bool by_outputs = context.opset() < 14;
  const bool training = by_outputs ? has_extra_outputs(node) && !is_test : is_training(node.attributes);
  node.attributes.set("training_mode", int64_t{training});
  if (by_outputs && training) {
    drop_outputs(context, 3, "saved mean and variance are for the backward pass of the library that wrote them");
  }
  if (!training) drop_outputs(context, 1, "batch normalization in inference form has one output");
}

void require_gradient_of_y_only(const GradientContext& context) {
  for (std::size_t i = 1; i < kOutputs; ++i) {
    if (context.dy(i)) {
      throw Error(ErrorKind::kModel, fmt::format("{}: expected a loss that does not depend on the statistics, found a "
                                                 "gradient of output {}",
                                                 context.node().text(), i));
    }
  }
}

void emit_training_gradient(GradientContext& context, const OpId& op) {
  require_gradient_of_y_only(context);
  Value* mean = context.forward_output(3, "saved_mean");
  Value* inv_std = context.forward_output(4, "saved_inv_std");
  const auto grads = context.emit_all(op, {context.dy(0), context.x(0), context.x(1), mean, inv_std}, 3);
  for (std::size_t i = 0; i < 3; ++i) context.set_dx(i, grads[i]);
}

void gradient(GradientContext& context) {
  if (is_training(context.attributes())) return emit_training_gradient(context, kBatchNormalizationGrad);
  const auto grads = context.emit_all(kBatchNormalizationInferenceGrad,
                                      {context.dy(0), context.x(0), context.x(1), context.x(3), context.x(4)}, 3,
                                      {{"epsilon", batch_norm_epsilon(context.attributes())}});
  for (std::size_t i = 0; i < 3; ++i) context.set_dx(i, grads[i]);
}

void gradient_sync(GradientContext& context) { emit_training_gradient(context, kSyncBatchNormalizationGrad); }

void require_complete_inputs(const DistributionContext& context) {
  for (std::size_t i = 0; i < context.node().inputs().size(); ++i) {
    if (context.input(i) == Distribution::kPartial) {
      context.fail(fmt::format("reads input {} before it is added over the replicas", i));
    }
  }
}

// Statistics of a replica's own rows belong to it alone.
void distribute(DistributionContext& context) {
  if (!is_training(context.node().attributes)) return context.pointwise();
  require_complete_inputs(context);
  const Distribution x = context.input(0);
  const bool local = x == Distribution::kBatchSplit || context.input(3) == Distribution::kLocal;
  context.set_all(local ? Distribution::kLocal : x);
  context.set(0, x);
}

void distribute_sync(DistributionContext& context) {
  require_complete_inputs(context);
  context.set_all(Distribution::kReplicated);
  context.set(0, context.input(0));
}

void distribute_grad(DistributionContext& context) {
  require_complete_inputs(context);
  const bool split = context.input(0) == Distribution::kBatchSplit || context.input(1) == Distribution::kBatchSplit;
  context.set_all(split ? Distribution::kPartial : context.input(1));
  context.set(0, split ? Distribution::kBatchSplit : context.input(1));
}

void distribute_sync_grad(DistributionContext& context) {
  require_complete_inputs(context);
  context.set_all(Distribution::kReplicated);
  context.set(0, context.input(1));
}

double flops_forward(const Node& node) {
  return 2.0 * static_cast<double>(element_count(node.output(0)->type.shape()));
}
double flops_backward(const Node& node) {
  return 8.0 * static_cast<double>(element_count(node.output(0)->type.shape()));
}

SampleInput per_channel(int64_t channels, double low, double high) {
  return {.shape = {channels}, .low = low, .high = high};
}

SampleCase forward_sample(const char* name, const Shape& shape, bool training) {
  const int64_t channels = shape.size() > 1 ? shape[1] : 1;
  return {.name = name,
          .inputs = {SampleInput{.shape = shape, .low = -2, .high = 3}, per_channel(channels, 0.5, 1.5),
                     per_channel(channels, -1, 1), per_channel(channels, -1, 1), per_channel(channels, 0.5, 2)},
          .outputs = training ? 5 : 1,
          .attributes = {{"training_mode", int64_t{training}}, {"epsilon", 1e-3}, {"momentum", 0.8}},
          .gradients = {0, 1, 2}};
}

std::vector<SampleCase> training_samples() {
  std::vector<SampleCase> cases{
      forward_sample("training, image", {3, 5, 4, 6}, true), forward_sample("training, rank 2", {7, 4}, true),
      forward_sample("training, rank 3", {2, 3, 9}, true), forward_sample("training, rank 5", {2, 3, 2, 3, 2}, true),
      forward_sample("training, one sample", {1, 2, 3, 3}, true)};
  cases.push_back(cases.front());
  cases.back().name = "training, unbiased running variance";
  cases.back().attributes.set("unbiased", int64_t{1});
  return cases;
}

std::vector<SampleCase> samples() {
  std::vector<SampleCase> cases = training_samples();
  for (SampleCase& inference : std::vector<SampleCase>{forward_sample("inference, image", {3, 5, 4, 6}, false),
                                                       forward_sample("inference, 16 channels", {2, 16, 5, 5}, false),
                                                       forward_sample("inference, 130 channels", {2, 130, 3, 3}, false),
                                                       forward_sample("inference, rank 2", {7, 4}, false),
                                                       forward_sample("inference, rank 3", {2, 3, 9}, false)}) {
    cases.push_back(std::move(inference));
  }
  return cases;
}

SampleCase backward_sample(const char* name, const Shape& shape) {
  const SampleInput x{.shape = shape, .low = -2, .high = 3};
  return {.name = name,
          .inputs = {x, x, per_channel(shape[1], 0.5, 1.5), per_channel(shape[1], 0, 1), per_channel(shape[1], 0.5, 2)},
          .outputs = 3,
          .attributes = {{"epsilon", 1e-3}}};
}

std::vector<SampleCase> grad_samples() {
  return {backward_sample("image", {3, 5, 4, 6}), backward_sample("rank 2", {7, 4}),
          backward_sample("rank 3", {2, 3, 9})};
}

OpDef grad_def(const OpId& id, const char* summary) {
  return {.id = id,
          .summary = summary,
          .inputs = {5, 5},
          .outputs = {3, 3},
          .infer = infer_grad,
          .distribute = distribute_grad,
          .flops = flops_backward,
          .samples = grad_samples,
          .in_place = {{0, 0}, {1, 0}}};
}

}  // namespace

void register_batch_normalization(Registry& registry) {
  registry.add(OpDef{.id = kBatchNormalization,
                     .versions = {1, 6, 7, 9, 14, 15},
                     .summary = "(X - mean) / sqrt(var + epsilon) * scale + B per channel",
                     .inputs = {5, 5},
                     .outputs = {1, 5},
                     .infer = infer,
                     .gradient = gradient,
                     .normalise = normalise,
                     .distribute = distribute,
                     .flops = flops_forward,
                     .samples = samples,
                     .in_place = {{0, 0}, {3, 1}, {4, 2}},
                     .states = {{3, 1}, {4, 2}},
                     .no_gradient_inputs = {3, 4}});
  registry.add(grad_def(kBatchNormalizationGrad, "gradient of BatchNormalization in training form"));
  registry.add(grad_def(kBatchNormalizationInferenceGrad, "gradient of BatchNormalization in inference form"));
  registry.add(OpDef{.id = kSyncBatchNormalization,
                     .summary = "BatchNormalization with statistics over all replicas",
                     .inputs = {5, 5},
                     .outputs = {1, 5},
                     .infer = infer_training,
                     .gradient = gradient_sync,
                     .distribute = distribute_sync,
                     .flops = flops_forward,
                     .samples = training_samples,
                     .states = {{3, 1}, {4, 2}},
                     .no_gradient_inputs = {3, 4}});
  OpDef sync_grad = grad_def(kSyncBatchNormalizationGrad, "gradient of SyncBatchNormalization, sums over all replicas");
  sync_grad.distribute = distribute_sync_grad, sync_grad.in_place = {};
  registry.add(std::move(sync_grad));
}

}  // namespace onward
