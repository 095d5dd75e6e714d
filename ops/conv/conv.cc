// Conv: cross-correlation of (N, C, spatial...) with weights (O, C/group, kernel...), any number of spatial dimensions.
// Its gradients are three separate ops, so that what nobody needs is not computed and the plan may order them freely:
// ConvGradInput, ConvGradWeight and, for the bias, ChannelSum.
#include <fmt/format.h>

#include "ops/conv/geometry.h"
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

const OpId kChannelSum{kOnwardDomain, "ChannelSum"};

void infer(InferContext& context) {
  const ConvGeometry geometry = conv_geometry(context.attributes(), context.shape(0), context.shape(1));
  if (context.has_input(2)) {
    context.require(context.shape(2) == Shape{geometry.all_out_channels()},
                    fmt::format("a bias of {} values", geometry.all_out_channels()), to_string(context.shape(2)));
  }
  context.set(0, context.dtype(0), geometry.output_shape());
}

void infer_grad_input(InferContext& context) {
  const Shape x = context.attributes().get_ints("input_shape");
  const ConvGeometry geometry = conv_geometry(context.attributes(), x, context.shape(1));
  context.require(context.shape(0) == geometry.output_shape(),
                  "an output gradient " + to_string(geometry.output_shape()), to_string(context.shape(0)));
  context.set(0, context.dtype(0), x);
}

void infer_grad_weight(InferContext& context) {
  const Shape w = context.attributes().get_ints("weight_shape");
  const ConvGeometry geometry = conv_geometry(context.attributes(), context.shape(0), w);
  context.require(context.shape(1) == geometry.output_shape(),
                  "an output gradient " + to_string(geometry.output_shape()), to_string(context.shape(1)));
  context.set(0, context.dtype(0), w);
}

void gradient(GradientContext& context) {
  const Shape x = context.x(0)->type.shape();
  const Shape w = context.x(1)->type.shape();
  Attributes attributes = context.attributes();
  make_explicit(attributes, conv_geometry(attributes, x, w).window);
  if (context.wants(0)) {
    Attributes own = attributes;
    own.set("input_shape", x);
    context.set_dx(0, context.emit(kConvGradInput, {context.dy(0), context.x(1)}, own));
  }
  if (context.wants(1)) {
    Attributes own = attributes;
    own.set("weight_shape", w);
    context.set_dx(1, context.emit(kConvGradWeight, {context.x(0), context.dy(0)}, own));
  }
  if (context.wants(2)) context.set_dx(2, context.emit(kChannelSum, {context.dy(0)}));
}

// Resolves auto_pad and writes every default, once the sizes are known.
void normalise(NormaliseContext& context) {
  Node& node = context.node();
  if (!node.input(0) || !node.input(1) || !node.input(0)->type.is_static() || !node.input(1)->type.is_static()) return;
  make_explicit(node.attributes,
                conv_geometry(node.attributes, node.input(0)->type.shape(), node.input(1)->type.shape()).window);
}

// Rows go with the images; weights and bias are the same everywhere.
void distribute(DistributionContext& context) {
  for (std::size_t i = 1; i < context.node().inputs().size(); ++i) {
    if (context.input(i) == Distribution::kBatchSplit) context.fail("has weights that depend on the batch");
  }
  context.pointwise();
}

void distribute_grad_weight(DistributionContext& context) {
  const Distribution x = context.input(0), dy = context.input(1);
  if (x != dy) context.fail("needs an input and an output gradient that are spread alike over the replicas");
  if (x == Distribution::kPartial)
    context.fail("reads sums that are not complete before they are added over the replicas");
  context.set(0, dy == Distribution::kBatchSplit ? Distribution::kPartial : dy);
}

double flops(const Node& node) {
  return conv_geometry(node.attributes, node.input(0)->type.shape(), node.input(1)->type.shape()).flops();
}

double grad_input_flops(const Node& node) {
  return conv_geometry(node.attributes, node.output(0)->type.shape(), node.input(1)->type.shape()).flops();
}

double grad_weight_flops(const Node& node) {
  return conv_geometry(node.attributes, node.input(0)->type.shape(), node.output(0)->type.shape()).flops();
}

using Ints = std::vector<int64_t>;

// One convolution of the samples; the gradient ops' samples are made from the same list.
struct Case {
  const char* name;
  Shape x, w;
  bool bias;
  Attributes attributes;
};

std::vector<Case> cases() {
  return {
      {"3x3", {2, 3, 5, 6}, {4, 3, 3, 3}, false, {{"pads", Ints{1, 1, 1, 1}}}},
      {"3x3-bias", {2, 3, 5, 6}, {4, 3, 3, 3}, true, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"1x1", {2, 4, 3, 5}, {6, 4, 1, 1}, true, {}},
      {"1x1-stride2", {1, 4, 5, 6}, {3, 4, 1, 1}, false, {{"strides", Ints{2, 2}}}},
      {"3x3-stride2", {2, 3, 7, 6}, {4, 3, 3, 3}, false, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"stem", {1, 3, 12, 12}, {8, 3, 7, 7}, true, {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}},
      {"asymmetric", {2, 2, 5, 4}, {3, 2, 2, 3}, true, {{"strides", Ints{1, 2}}, {"pads", Ints{0, 2, 1, 1}}}},
      {"dilation", {1, 2, 8, 9}, {3, 2, 3, 2}, false, {{"dilations", Ints{2, 3}}, {"pads", Ints{1, 0, 2, 1}}}},
      {"groups", {2, 6, 4, 5}, {4, 3, 3, 3}, true, {{"group", int64_t{2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"depthwise",
       {2, 4, 5, 5},
       {8, 1, 3, 3},
       true,
       {{"group", int64_t{4}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 1}}}},
      {"same-upper", {1, 2, 5, 6}, {3, 2, 2, 4}, false, {{"auto_pad", "SAME_UPPER"}, {"strides", Ints{2, 1}}}},
      {"same-lower", {1, 2, 5, 6}, {3, 2, 2, 4}, false, {{"auto_pad", "SAME_LOWER"}, {"strides", Ints{2, 1}}}},
      {"valid", {1, 2, 5, 6}, {3, 2, 2, 4}, false, {{"auto_pad", "VALID"}}},
      {"negative-pads", {1, 2, 6, 6}, {3, 2, 2, 2}, true, {{"pads", Ints{-1, 0, 1, -2}}}},
      {"1d", {2, 3, 9}, {4, 3, 3}, true, {{"pads", Ints{1, 2}}, {"strides", Ints{2}}}},
      {"1d-dilation", {2, 2, 9}, {4, 2, 3}, false, {{"dilations", Ints{2}}}},
      {"3d", {1, 2, 4, 3, 5}, {3, 2, 2, 2, 3}, true, {{"pads", Ints{1, 0, 1, 0, 1, 1}}}},
      {"wide", {2, 32, 8, 8}, {48, 32, 3, 3}, false, {{"pads", Ints{1, 1, 1, 1}}}},
      {"empty-batch", {0, 3, 5, 6}, {4, 3, 3, 3}, true, {{"pads", Ints{1, 1, 1, 1}}}},
  };
}

std::vector<SampleCase> samples() {
  std::vector<SampleCase> samples;
  for (const Case& c : cases()) {
    SampleCase sample{.name = c.name,
                      .inputs = {SampleInput{c.x}, SampleInput{c.w}},
                      .attributes = c.attributes,
                      .gradients = {0, 1}};
    if (c.bias) {
      sample.inputs.push_back(SampleInput{.shape = {c.w[0]}});
      sample.gradients.push_back(2);
    }
    // Finite differences of every weight of this one would take long.
    if (sample.name == "wide") sample.gradients.clear();
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<SampleCase> gradient_samples(bool of_weight) {
  std::vector<SampleCase> samples;
  for (const Case& c : cases()) {
    const ConvGeometry geometry = conv_geometry(c.attributes, c.x, c.w);
    const SampleInput dy{.shape = geometry.output_shape()};
    SampleCase sample{.name = c.name, .attributes = c.attributes};
    make_explicit(sample.attributes, geometry.window);
    sample.attributes.set(of_weight ? "weight_shape" : "input_shape", of_weight ? c.w : c.x);
    sample.inputs = of_weight ? std::vector<std::optional<SampleInput>>{SampleInput{c.x}, dy}
                              : std::vector<std::optional<SampleInput>>{dy, SampleInput{c.w}};
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<SampleCase> grad_input_samples() { return gradient_samples(false); }
std::vector<SampleCase> grad_weight_samples() { return gradient_samples(true); }

}  // namespace

void register_conv(Registry& registry) {
  registry.add(OpDef{.id = kConv,
                     .versions = {1, 11, 22},
                     .summary = "convolution",
                     .inputs = {2, 3},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .normalise = normalise,
                     .distribute = distribute,
                     .flops = flops,
                     .samples = samples,
                     .precision = PrecisionClass::kCompute});
  registry.add(OpDef{.id = kConvGradInput,
                     .summary = "gradient of Conv to its input, from dy and the weights",
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .infer = infer_grad_input,
                     .distribute = distribute,
                     .flops = grad_input_flops,
                     .samples = grad_input_samples,
                     .precision = PrecisionClass::kCompute});
  registry.add(OpDef{.id = kConvGradWeight,
                     .summary = "gradient of Conv to its weights, from x and dy",
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .infer = infer_grad_weight,
                     .distribute = distribute_grad_weight,
                     .flops = grad_weight_flops,
                     .samples = grad_weight_samples,
                     .precision = PrecisionClass::kCompute});
}

}  // namespace onward
