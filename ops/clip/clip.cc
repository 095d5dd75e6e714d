// Clip: y = min(max(x, min), max), bounds as attributes. The gradient passes where x is inside the bounds, ends
// included, as PyTorch's clamp has it.
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

const OpId kClipGrad{kOnwardDomain, "ClipGrad"};

void infer(InferContext& context) { context.set(0, context.dtype(0), context.shape(0)); }

// From opset 11 on the bounds are inputs, here constant ones.
void normalise(NormaliseContext& context) {
  context.node().attributes.erase("consumed_inputs");
  if (context.opset() < 11) return;
  const char* names[] = {"min", "max"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (const HostTensor* bound = context.constant(i + 1))
      context.node().attributes.set(names[i], bound->to_double().at(0));
  }
  context.drop_inputs_from(1);
}

// Linear in dy.
void distribute_grad(DistributionContext& context) { context.pointwise(true); }

void gradient(GradientContext& context) {
  context.set_dx(0, context.emit(kClipGrad, {context.dy(0), context.x(0)}, context.attributes()));
}

std::vector<SampleCase> samples() {
  const std::vector<std::optional<SampleInput>> x{SampleInput{.shape = {2, 3, 4, 5}, .low = -2, .high = 2}};
  return {{.name = "both bounds", .inputs = x, .attributes = {{"min", -0.5}, {"max", 1.25}}, .gradients = {0}},
          {.name = "no upper bound", .inputs = x, .attributes = {{"min", 0.0}}, .gradients = {0}},
          {.name = "no lower bound", .inputs = x, .attributes = {{"max", 0.0}}, .gradients = {0}},
          {.name = "unbounded", .inputs = x, .gradients = {0}},
          {.name = "int64",
           .inputs = {SampleInput{.shape = {9}, .low = -9, .high = 9, .dtype = DType::kInt64}},
           .attributes = {{"min", -3.0}, {"max", 4.0}}},
          {.name = "int32",
           .inputs = {SampleInput{.shape = {9}, .low = -9, .high = 9, .dtype = DType::kInt32}},
           .attributes = {{"min", -3.0}, {"max", 4.0}}}};
}

std::vector<SampleCase> grad_samples() {
  const SampleInput image{.shape = {2, 3, 4, 5}, .low = -2, .high = 2};
  return {{.name = "both bounds", .inputs = {image, image}, .attributes = {{"min", -0.5}, {"max", 1.25}}}};
}

}  // namespace

void register_clip(Registry& registry) {
  registry.add(OpDef{.id = {"", "Clip"},
                     .versions = {1, 6, 11, 12, 13},
                     .summary = "x limited to [min, max]",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .normalise = normalise,
                     .samples = samples,
                     .in_place = {{0, 0}},
                     .no_gradient_inputs = {1, 2}});
  registry.add(OpDef{.id = kClipGrad,
                     .summary = "gradient of Clip from dy and x",
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .infer = infer,
                     .distribute = distribute_grad,
                     .samples = grad_samples,
                     .in_place = {{0, 0}, {1, 0}}});
}

}  // namespace onward
