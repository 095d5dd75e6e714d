// Dropout: in inference nothing, y = x, which is its normal form, without attributes; output 1, if a file reads it, is
// a mask of ones. In training programs the dropout pass has turned it into onward::DropoutTrain before.
//
// DropoutTrain draws its mask from counters: element e of the global batch is kept if the word at (seed, site, step, e)
// is at least `ratio`. The mask is therefore the same for any number of replicas and threads, and after a resume. The
// mask holds 0 or 1/(1-ratio), so that dx = dy * mask.
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  context.set(0, context.dtype(0), context.shape(0));
  context.set(1, DType::kBool, context.shape(0));
}

void gradient(GradientContext& context) { context.set_dx(0, context.dy(0)); }

void distribute(DistributionContext& context) { context.set_all(context.input(0)); }

void normalise(NormaliseContext& context) {
  Node& node = context.node();
  node.attributes = {};
  context.drop_inputs_from(1);
  Value* mask = node.output(1);
  if (!mask || (mask->uses().empty() && !context.graph().is_output(*mask))) context.drop_outputs_from(1);
}

std::vector<SampleCase> samples() {
  return {{.name = "image", .inputs = {SampleInput{.shape = {2, 3, 4, 5}}}, .gradients = {0}},
          {.name = "with_mask", .inputs = {SampleInput{.shape = {2, 3}}}, .outputs = 2, .gradients = {0}}};
}

// ---- the training form

void infer_train(InferContext& context) {
  for (std::size_t i = 1; i <= 2; ++i) {
    if (!context.has_input(i)) continue;
    context.require(context.type(i) == TensorType(DType::kInt64, {}), "an int64 scalar as input " + std::to_string(i),
                    context.type(i).text());
  }
  context.set(0, context.dtype(0), context.shape(0));
  context.set(1, context.dtype(0), context.shape(0));
}

void train_gradient(GradientContext& context) {
  context.set_dx(0, context.emit("Mul", {context.dy(0), context.forward_output(1, context.y(0)->name() + ".mask")}));
}

void distribute_train(DistributionContext& context) {
  if (context.input(0) == Distribution::kPartial) context.fail("drops elements of a sum that is not complete yet");
  context.set_all(context.input(0));
}

std::vector<SampleCase> train_samples() {
  const SampleInput step{.shape = {}, .dtype = DType::kInt64, .values = {3}},
      offset{.shape = {}, .dtype = DType::kInt64, .values = {5}};
  const auto site = [](double ratio) {
    return Attributes{{"ratio", ratio}, {"seed", int64_t{7}}, {"site", int64_t{1}}};
  };
  return {{.name = "image",
           .inputs = {SampleInput{.shape = {2, 3, 4, 5}}, step, offset},
           .outputs = 2,
           .attributes = site(0.5),
           .gradients = {0}},
          {.name = "odd_rows",
           .inputs = {SampleInput{.shape = {3, 7}}, step, offset},
           .outputs = 2,
           .attributes = site(0.3),
           .gradients = {0}},
          {.name = "no_mask",
           .inputs = {SampleInput{.shape = {3, 7}}, step, offset},
           .attributes = site(0.3),
           .gradients = {0}},
          {.name = "not_a_batch",
           .inputs = {SampleInput{.shape = {9}}, step, std::nullopt},
           .outputs = 2,
           .attributes = site(0.3),
           .gradients = {0}},
          {.name = "nothing_kept",
           .inputs = {SampleInput{.shape = {2, 3}}, step, offset},
           .outputs = 2,
           .attributes = site(1),
           .gradients = {0}}};
}

}  // namespace

void register_dropout(Registry& registry) {
  registry.add(OpDef{.id = {"", "Dropout"},
                     .versions = {1, 6, 7, 10, 12, 13, 22},
                     .summary = "nothing; random zeros in training",
                     .inputs = {1, 1},
                     .outputs = {1, 2},
                     .infer = infer,
                     .gradient = gradient,
                     .normalise = normalise,
                     .distribute = distribute,
                     .samples = samples,
                     .in_place = {{0, 0}},
                     .no_gradient_inputs = {1, 2}});
  registry.add(OpDef{.id = {kOnwardDomain, "DropoutTrain"},
                     .summary = "random zeros keyed by seed, site, step and row of the batch",
                     .inputs = {2, 3},
                     .outputs = {1, 2},
                     .infer = infer_train,
                     .gradient = train_gradient,
                     .distribute = distribute_train,
                     .samples = train_samples,
                     .in_place = {{0, 0}},
                     .constant_folds = false});
}

}  // namespace onward
