// SoftmaxCrossEntropyLoss: -log softmax(scores)[label] per label, over the class axis 1, by the shifted log-sum-exp;
// reduced as label_loss.h says. Output 1 is the logarithm of the softmax, which the gradient reads.
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"
#include "ops/softmax_cross_entropy_loss/label_loss.h"
#include "ops/softmax_cross_entropy_loss/loss_samples.h"

namespace onward {
namespace {

const OpId kGrad{kOnwardDomain, "SoftmaxCrossEntropyLossGrad"};

void infer(InferContext& context) {
  const Shape scores = context.shape(0);
  context.set(0, context.dtype(0), loss_shape(context, scores, 1, 2));
  context.set(1, context.dtype(0), scores);
}

void gradient(GradientContext& context) {
  Value* log_prob = context.forward_output(1, context.y(0) ? context.y(0)->name() + ".log_prob" : "log_prob");
  Value* from_loss = nullptr;
  if (context.dy(0)) {
    std::vector<Value*> inputs{context.dy(0), log_prob, context.x(1)};
    if (context.x(2)) inputs.push_back(context.x(2));
    from_loss = context.emit(kGrad, inputs, context.attributes());
  }
  Value* from_log_prob = nullptr;
  if (context.dy(1)) {
    from_log_prob = context.emit({kOnwardDomain, "LogSoftmaxGrad"}, {context.dy(1), log_prob}, {{"axis", int64_t{1}}});
  }
  context.set_dx(0, from_loss && from_log_prob ? context.emit("Add", {from_loss, from_log_prob})
                    : from_loss                ? from_loss
                                               : from_log_prob);
}

std::vector<SampleCase> samples() {
  std::vector<SampleCase> list = loss_samples(-3, 3);
  SampleCase both = list.front();
  both.name = "with_log_prob";
  both.outputs = 2;
  both.gradient_outputs = {0, 1};
  list.push_back(both);
  return list;
}

void infer_grad(InferContext& context) {
  loss_shape(context, context.shape(1), 2, 3);
  context.set(0, context.dtype(1), context.shape(1));
}

void distribute_grad(DistributionContext& context) {
  if (context.input(0) == Distribution::kPartial) context.fail("reads the gradient of a loss that is not complete yet");
  context.set(0, context.input(1));
}

// dloss, log_prob, labels, weights from the inputs of the forward samples.
std::vector<SampleCase> grad_samples() { return loss_grad_samples(loss_samples(-3, 0), true); }

}  // namespace

void register_softmax_cross_entropy_loss(Registry& registry) {
  registry.add(OpDef{.id = {"", "SoftmaxCrossEntropyLoss"},
                     .versions = {12, 13},
                     .summary = "cross entropy of scores and class labels",
                     .inputs = {2, 3},
                     .outputs = {1, 2},
                     .infer = infer,
                     .gradient = gradient,
                     .distribute = distribute_loss,
                     .samples = samples,
                     .no_gradient_inputs = {2},
                     .precision = PrecisionClass::kAccurate});
  // dscores = (exp(log_prob) - [class is the label]) * weight * gradient of the label's term.
  registry.add(OpDef{.id = kGrad,
                     .summary = "gradient of SoftmaxCrossEntropyLoss from dloss and log_prob",
                     .inputs = {3, 4},
                     .outputs = {1, 1},
                     .infer = infer_grad,
                     .distribute = distribute_grad,
                     .samples = grad_samples,
                     .precision = PrecisionClass::kAccurate});
}

}  // namespace onward
