// NegativeLogLikelihoodLoss: -log_prob[label] per label, reduced as label_loss.h says.
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"
#include "ops/softmax_cross_entropy_loss/label_loss.h"
#include "ops/softmax_cross_entropy_loss/loss_samples.h"

namespace onward {
namespace {

const OpId kGrad{kOnwardDomain, "NegativeLogLikelihoodLossGrad"};

void infer(InferContext& context) { context.set(0, context.dtype(0), loss_shape(context, context.shape(0), 1, 2)); }

void gradient(GradientContext& context) {
  std::vector<Value*> inputs{context.dy(0), context.x(1)};
  if (context.x(2)) inputs.push_back(context.x(2));
  Attributes attributes = context.attributes();
  attributes.set("input_shape", context.x(0)->type.shape());
  context.set_dx(0, context.emit(kGrad, inputs, attributes));
}

std::vector<SampleCase> samples() { return loss_samples(-3, 0); }

void infer_grad(InferContext& context) {
  const Shape shape = context.attributes().get_ints("input_shape");
  loss_shape(context, shape, 1, 2);
  context.set(0, context.dtype(0), shape);
}

void distribute_grad(DistributionContext& context) {
  if (context.input(0) == Distribution::kPartial) context.fail("reads the gradient of a loss that is not complete yet");
  context.set(0, context.input(1));
}

std::vector<SampleCase> grad_samples() { return loss_grad_samples(loss_samples(-3, 0), false); }

}  // namespace

void register_negative_log_likelihood_loss(Registry& registry) {
  registry.add(OpDef{.id = {"", "NegativeLogLikelihoodLoss"},
                     .versions = {12, 13, 22},
                     .summary = "minus the log probability of the labels",
                     .inputs = {2, 3},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .distribute = distribute_loss,
                     .samples = samples,
                     .no_gradient_inputs = {2},
                     .precision = PrecisionClass::kAccurate});
  registry.add(OpDef{.id = kGrad,
                     .summary = "gradient of NegativeLogLikelihoodLoss from dloss",
                     .inputs = {2, 3},
                     .outputs = {1, 1},
                     .infer = infer_grad,
                     .distribute = distribute_grad,
                     .samples = grad_samples,
                     .precision = PrecisionClass::kAccurate});
}

}  // namespace onward
