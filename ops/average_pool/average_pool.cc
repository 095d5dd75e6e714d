// AveragePool: the mean of each window.
#include "ops/average_pool/average_pool.h"

#include <algorithm>

#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"

namespace onward {

std::vector<double> average_divisors(const Attributes& attributes, const Window& window,
                                     const std::vector<int32_t>& taps) {
  const bool include_pad = attributes.get_int("count_include_pad", 0) != 0;
  const int64_t positions = window.positions();
  std::vector<double> divisors;
  for (int64_t p = 0; p < window.output_count(); ++p) {
    int64_t count = 0;
    for (int64_t k = 0; k < positions; ++k) {
      const int32_t tap = taps[static_cast<std::size_t>(p * positions + k)];
      count += tap >= 0 || (include_pad && tap == kTapInPadding);
    }
    divisors.push_back(static_cast<double>(std::max<int64_t>(count, 1)));
  }
  return divisors;
}

namespace {

void infer(InferContext& context) {
  const Window window = pooling_window(context.attributes(), context.shape(0));
  context.set(0, context.dtype(0), pooled_shape(context.shape(0), window));
}

void infer_grad(InferContext& context) {
  const Shape x = context.attributes().get_ints("input_shape");
  const Shape output = pooled_shape(x, pooling_window(context.attributes(), x));
  context.require(context.shape(0) == output, "an output gradient " + to_string(output), to_string(context.shape(0)));
  context.set(0, context.dtype(0), x);
}

void gradient(GradientContext& context) {
  const Shape x = context.x(0)->type.shape();
  Attributes attributes = context.attributes();
  make_explicit(attributes, pooling_window(attributes, x));
  attributes.set("input_shape", x);
  context.set_dx(0, context.emit(kAveragePoolGrad, {context.dy(0)}, attributes));
}

void normalise(NormaliseContext& context) {
  Node& node = context.node();
  if (!node.input(0) || !node.input(0)->type.is_static()) return;
  make_explicit(node.attributes, pooling_window(node.attributes, node.input(0)->type.shape()));
}

double flops(const Node& node) {
  const Window window = pooling_window(node.attributes, node.input(0)->type.shape());
  return static_cast<double>(element_count(node.output(0)->type.shape())) * static_cast<double>(window.positions());
}

double grad_flops(const Node& node) {
  const Window window = pooling_window(node.attributes, node.output(0)->type.shape());
  return static_cast<double>(element_count(node.input(0)->type.shape())) * static_cast<double>(window.positions());
}

using Ints = std::vector<int64_t>;

struct Case {
  const char* name;
  Shape x;
  Attributes attributes;
};

std::vector<Case> cases() {
  const Attribute one = int64_t{1};
  return {
      {"2x2", {2, 3, 4, 6}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
      {"pads", {2, 5, 5, 4}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"include-pad",
       {2, 5, 5, 4},
       {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"count_include_pad", one}}},
      {"asymmetric", {1, 2, 5, 5}, {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{2, 0, 0, 1}}}},
      {"ceil", {1, 2, 6, 7}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", one}}},
      {"ceil-include-pad",
       {1, 2, 6, 8},
       {{"kernel_shape", Ints{3, 4}},
        {"strides", Ints{2, 3}},
        {"pads", Ints{1, 1, 1, 1}},
        {"ceil_mode", one},
        {"count_include_pad", one}}},
      {"dilations",
       {1, 2, 8, 7},
       {{"kernel_shape", Ints{2, 3}}, {"dilations", Ints{3, 2}}, {"pads", Ints{1, 1, 0, 1}}}},
      {"same-upper", {1, 2, 5, 6}, {{"kernel_shape", Ints{2, 3}}, {"auto_pad", "SAME_UPPER"}, {"strides", Ints{2, 2}}}},
      {"same-lower",
       {1, 2, 5, 6},
       {{"kernel_shape", Ints{2, 3}}, {"auto_pad", "SAME_LOWER"}, {"count_include_pad", one}}},
      {"gaps", {1, 2, 7, 8}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{3, 3}}}},
      {"1d", {2, 3, 9}, {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 0}}}},
      {"3d", {1, 2, 4, 3, 4}, {{"kernel_shape", Ints{2, 2, 3}}, {"pads", Ints{0, 1, 1, 0, 0, 1}}}},
      {"wide", {2, 70, 6, 6}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"only-padding", {1, 2, 2, 2}, {{"kernel_shape", Ints{1, 1}}, {"pads", Ints{1, 0, 0, 1}}}},
      {"empty-batch", {0, 2, 4, 4}, {{"kernel_shape", Ints{2, 2}}}},
  };
}

std::vector<SampleCase> samples() {
  std::vector<SampleCase> samples;
  for (const Case& c : cases()) {
    samples.push_back({.name = c.name, .inputs = {SampleInput{c.x}}, .attributes = c.attributes, .gradients = {0}});
  }
  return samples;
}

std::vector<SampleCase> grad_samples() {
  std::vector<SampleCase> samples;
  for (const Case& c : cases()) {
    const Window window = pooling_window(c.attributes, c.x);
    SampleCase sample{
        .name = c.name, .inputs = {SampleInput{.shape = pooled_shape(c.x, window)}}, .attributes = c.attributes};
    make_explicit(sample.attributes, window);
    sample.attributes.set("input_shape", c.x);
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace

void register_average_pool(Registry& registry) {
  registry.add(OpDef{.id = kAveragePool,
                     .versions = {1, 7, 10, 11, 19, 22},
                     .summary = "mean of each window",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .normalise = normalise,
                     .flops = flops,
                     .samples = samples});
  registry.add(OpDef{.id = kAveragePoolGrad,
                     .summary = "gradient of AveragePool from dy",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer_grad,
                     .flops = grad_flops,
                     .samples = grad_samples});
}

}  // namespace onward
