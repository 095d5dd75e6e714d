// MaxPool: (Y, Indices?, window?). Indices is ONNX's output; `window`, the position of the maximum within its window,
// is this program's own: one byte an output is all that the gradient reads. The first of equal maxima wins, a NaN wins
// over numbers.
#include "ops/max_pool/max_pool.h"

#include <fmt/format.h>

#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"
#include "ops/core/window.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  const Window window = pooling_window(context.attributes(), context.shape(0));
  const Shape output = pooled_shape(context.shape(0), window);
  context.set(0, context.dtype(0), output);
  context.set(1, DType::kInt64, output);
  context.set(2, window_dtype(window.positions()), output);
}

void infer_grad(InferContext& context) {
  const Shape x = context.attributes().get_ints("input_shape");
  const Window window = pooling_window(context.attributes(), x);
  const Shape output = pooled_shape(x, window);
  context.require(context.shape(0) == output && context.shape(1) == output,
                  "an output gradient and window positions " + to_string(output),
                  fmt::format("{} and {}", to_string(context.shape(0)), to_string(context.shape(1))));
  context.require(context.dtype(1) == window_dtype(window.positions()), dtype_name(window_dtype(window.positions())),
                  dtype_name(context.dtype(1)));
  context.set(0, context.dtype(0), x);
}

void gradient(GradientContext& context) {
  const Shape x = context.x(0)->type.shape();
  Attributes attributes = context.attributes();
  make_explicit(attributes, pooling_window(attributes, x));
  attributes.erase("storage_order");
  attributes.set("input_shape", x);
  Value* window = context.forward_output(2, context.y(0)->name() + ".window");
  context.set_dx(0, context.emit(kMaxPoolGrad, {context.dy(0), window}, attributes));
}

void normalise(NormaliseContext& context) {
  Node& node = context.node();
  if (!node.input(0) || !node.input(0)->type.is_static()) return;
  make_explicit(node.attributes, pooling_window(node.attributes, node.input(0)->type.shape()));
}

// ONNX's Indices count from the first row of the whole batch.
void distribute(DistributionContext& context) {
  if (context.node().output(1) && context.input(0) == Distribution::kBatchSplit) {
    context.fail("gives positions in the whole batch, which no replica holds");
  }
  context.pointwise();
}

double flops(const Node& node) {
  const Window window = pooling_window(node.attributes, node.input(0)->type.shape());
  return static_cast<double>(element_count(node.output(0)->type.shape())) * static_cast<double>(window.positions());
}

double grad_flops(const Node& node) { return static_cast<double>(element_count(node.input(0)->type.shape())); }

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
      {"3x3-stride2",
       {2, 5, 7, 8},
       {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"overlap", {1, 2, 5, 5}, {{"kernel_shape", Ints{3, 2}}}},
      {"gaps", {1, 2, 7, 8}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{3, 3}}}},
      {"ceil", {1, 2, 6, 7}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", one}}},
      {"ceil-pads",
       {1, 2, 5, 6},
       {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{2, 3}}, {"pads", Ints{1, 1, 1, 2}}, {"ceil_mode", one}}},
      {"asymmetric", {1, 3, 5, 5}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 1}}, {"pads", Ints{0, 2, 1, 0}}}},
      {"dilations",
       {1, 2, 8, 7},
       {{"kernel_shape", Ints{2, 3}}, {"dilations", Ints{3, 2}}, {"pads", Ints{1, 1, 0, 1}}}},
      {"same-upper", {1, 2, 5, 6}, {{"kernel_shape", Ints{2, 3}}, {"auto_pad", "SAME_UPPER"}, {"strides", Ints{2, 2}}}},
      {"same-lower", {1, 2, 5, 6}, {{"kernel_shape", Ints{2, 3}}, {"auto_pad", "SAME_LOWER"}, {"strides", Ints{2, 2}}}},
      {"1d", {2, 3, 9}, {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 0}}}},
      {"3d", {1, 2, 4, 3, 4}, {{"kernel_shape", Ints{2, 2, 3}}, {"pads", Ints{0, 1, 1, 0, 0, 1}}}},
      {"wide", {2, 70, 6, 6}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"large-window", {1, 2, 17, 17}, {{"kernel_shape", Ints{16, 16}}}},
      {"only-padding", {1, 2, 2, 2}, {{"kernel_shape", Ints{1, 1}}, {"pads", Ints{1, 0, 0, 1}}}},
      {"empty-batch", {0, 2, 4, 4}, {{"kernel_shape", Ints{2, 2}}}},
  };
}

std::vector<SampleCase> samples() {
  std::vector<SampleCase> samples;
  for (const Case& c : cases()) {
    // Minus infinity, the maximum of nothing, has no finite differences.
    const bool finite = std::string(c.name) != "only-padding";
    SampleCase sample{.name = c.name, .inputs = {SampleInput{c.x}}, .attributes = c.attributes};
    if (finite) sample.gradients = {0};
    samples.push_back(sample);
    sample.name += "-indices";
    sample.outputs = 3;
    sample.attributes.set("storage_order", static_cast<int64_t>(samples.size() / 2 % 2));
    samples.push_back(std::move(sample));
  }
  for (const DType dtype : {DType::kUInt8, DType::kInt8}) {
    samples.push_back({.name = dtype_name(dtype),
                       .inputs = {SampleInput{.shape = {2, 3, 4, 4}, .low = 0, .high = 99, .dtype = dtype}},
                       .attributes = {{"kernel_shape", Ints{2, 2}}}});
  }
  return samples;
}

// Window positions that a forward run could have given: the last tap of each output that meets an input.
std::vector<double> window_values(const Shape& x, const Window& window) {
  const std::vector<int32_t> taps = window_taps(window);
  const auto positions = static_cast<std::size_t>(window.positions());
  std::vector<double> values;
  for (int64_t plane = 0; plane < x[0] * x[1]; ++plane) {
    for (std::size_t p = 0; p < static_cast<std::size_t>(window.output_count()); ++p) {
      std::size_t k = positions;
      for (std::size_t i = 0; i < positions; ++i) {
        if (taps[p * positions + i] >= 0 && (k == positions || (static_cast<std::size_t>(plane) + i) % 3 != 0)) k = i;
      }
      values.push_back(static_cast<double>(k));
    }
  }
  return values;
}

std::vector<SampleCase> grad_samples() {
  std::vector<SampleCase> samples;
  for (const Case& c : cases()) {
    const Window window = pooling_window(c.attributes, c.x);
    const Shape output = pooled_shape(c.x, window);
    SampleCase sample{.name = c.name, .attributes = c.attributes};
    make_explicit(sample.attributes, window);
    sample.attributes.set("input_shape", c.x);
    sample.inputs = {
        SampleInput{.shape = output},
        SampleInput{.shape = output, .dtype = window_dtype(window.positions()), .values = window_values(c.x, window)}};
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace

void register_max_pool(Registry& registry) {
  registry.add(OpDef{.id = kMaxPool,
                     .versions = {1, 8, 10, 11, 12, 22},
                     .summary = "maximum of each window",
                     .inputs = {1, 1},
                     .outputs = {1, 3},
                     .infer = infer,
                     .gradient = gradient,
                     .normalise = normalise,
                     .distribute = distribute,
                     .flops = flops,
                     .samples = samples});
  registry.add(OpDef{.id = kMaxPoolGrad,
                     .summary = "gradient of MaxPool from dy and the positions of the maxima",
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .infer = infer_grad,
                     .flops = grad_flops,
                     .samples = grad_samples});
}

}  // namespace onward
