// GlobalAveragePool: the mean over all spatial dimensions, which stay as ones.
#include <algorithm>

#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

const OpId kGrad{kOnwardDomain, "GlobalAveragePoolGrad"};

Shape pooled(Shape shape) {
  std::fill(shape.begin() + 2, shape.end(), 1);
  return shape;
}

void infer(InferContext& context) {
  context.require(context.shape(0).size() >= 2, "an input of rank 2 or more", to_string(context.shape(0)));
  context.set(0, context.dtype(0), pooled(context.shape(0)));
}

void infer_grad(InferContext& context) {
  const Shape x = context.attributes().get_ints("input_shape");
  context.require(context.shape(0) == pooled(x), "an output gradient " + to_string(pooled(x)),
                  to_string(context.shape(0)));
  context.set(0, context.dtype(0), x);
}

void gradient(GradientContext& context) {
  context.set_dx(0, context.emit(kGrad, {context.dy(0)}, {{"input_shape", context.x(0)->type.shape()}}));
}

double flops(const Node& node) { return static_cast<double>(element_count(node.input(0)->type.shape())); }

std::vector<Shape> shapes() { return {{2, 3, 4, 5}, {1, 70, 3, 3}, {2, 3, 9}, {1, 2, 2, 3, 2}, {3, 4}, {0, 3, 2, 2}}; }

std::vector<SampleCase> samples() {
  std::vector<SampleCase> samples;
  for (const Shape& shape : shapes())
    samples.push_back({.name = to_string(shape), .inputs = {SampleInput{shape}}, .gradients = {0}});
  return samples;
}

std::vector<SampleCase> grad_samples() {
  std::vector<SampleCase> samples;
  for (const Shape& shape : shapes()) {
    samples.push_back(
        {.name = to_string(shape), .inputs = {SampleInput{pooled(shape)}}, .attributes = {{"input_shape", shape}}});
  }
  return samples;
}

}  // namespace

void register_global_average_pool(Registry& registry) {
  registry.add(OpDef{.id = {"", "GlobalAveragePool"},
                     .versions = {1, 22},
                     .summary = "mean over the spatial dimensions",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .flops = flops,
                     .samples = samples});
  registry.add(OpDef{.id = kGrad,
                     .summary = "gradient of GlobalAveragePool from dy",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer_grad,
                     .samples = grad_samples});
}

}  // namespace onward
