// Dropout. The file's node is the inference form, y = x; its normal form keeps what the training form needs: attributes
// `ratio`, `training_mode` where the file says so (opsets 7 and 10 leave it to the caller), `seed` if given. The dropout pass
// turns it into onward::DropoutTrain in training programs.
//
// DropoutTrain draws its mask from counters: element e of the global batch is kept if the word at (seed, site, step, e) is at
// least `ratio`. The mask is therefore the same for any number of replicas and threads, and after a resume. The mask holds 0
// or 1/(1-ratio), so that dx = dy * mask.
#include "graph/error.h"
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
  Attributes normal;
  const HostTensor* ratio = context.constant(1);
  normal.set("ratio", ratio ? ratio->to_double().at(0) : node.attributes.get_double("ratio", 0.5));
  if (const HostTensor* training = context.constant(2)) {
    normal.set("training_mode", training->to_int64().at(0));
  } else if (node.attributes.has("training_mode")) {
    normal.set("training_mode", node.attributes.get_int("training_mode"));
  } else if (context.opset() < 7) {
    normal.set("training_mode", int64_t{node.attributes.get_int("is_test", 0) == 0});
  }
  if (node.attributes.has("seed")) normal.set("seed", node.attributes.get_int("seed"));
  const double value = normal.get_double("ratio");
  if (!(value >= 0 && value <= 1)) {
    throw Error(ErrorKind::kModel, "expected a dropout ratio from 0 to 1, found " + std::to_string(value));
  }
  node.attributes = normal;
  context.drop_inputs_from(1);
  Value* mask = node.output(1);
  if (!mask || (mask->uses().empty() && !context.graph().is_output(*mask))) context.drop_outputs_from(1);
}

std::vector<SampleCase> samples() {
  return {{.name = "image", .inputs = {SampleInput{.shape = {2, 3, 4, 5}}}, .attributes = {{"ratio", 0.5}}, .gradients = {0}},
          {.name = "with_mask", .inputs = {SampleInput{.shape = {2, 3}}}, .outputs = 2, .attributes = {{"ratio", 0.25}}, .gradients = {0}}};
}

// ---- the training form

void infer_train(InferContext& context) {
  for (std::size_t i = 1; i <= 2; ++i) {
    if (!context.has_input(i)) continue;
    context.require(context.type(i) == TensorType(DType::kInt64, {}), "an int64 scalar as input " + std::to_string(i), context.type(i).text());
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
  const SampleInput step{.shape = {}, .dtype = DType::kInt64, .values = {3}}, offset{.shape = {}, .dtype = DType::kInt64, .values = {5}};
  const auto site = [](double ratio) { return Attributes{{"ratio", ratio}, {"seed", int64_t{7}}, {"site", int64_t{1}}}; };
  return {{.name = "image", .inputs = {SampleInput{.shape = {2, 3, 4, 5}}, step, offset}, .outputs = 2, .attributes = site(0.5), .gradients = {0}},
          {.name = "odd_rows", .inputs = {SampleInput{.shape = {3, 7}}, step, offset}, .outputs = 2, .attributes = site(0.3), .gradients = {0}},
          {.name = "no_mask", .inputs = {SampleInput{.shape = {3, 7}}, step, offset}, .attributes = site(0.3), .gradients = {0}},
          {.name = "not_a_batch", .inputs = {SampleInput{.shape = {9}}, step, std::nullopt}, .outputs = 2, .attributes = site(0.3), .gradients = {0}},
          {.name = "nothing_kept", .inputs = {SampleInput{.shape = {2, 3}}, step, offset}, .outputs = 2, .attributes = site(1), .gradients = {0}}};
}

}  // namespace

void register_dropout(Registry& registry) {
  registry.add(OpDef{.id = {"", "Dropout"}, .versions = {1, 6, 7, 10, 12, 13, 22}, .summary = "nothing; random zeros in training",
                     .inputs = {1, 1}, .outputs = {1, 2}, .infer = infer, .gradient = gradient, .normalise = normalise,
                     .distribute = distribute, .samples = samples, .in_place = {{0, 0}}});
  registry.add(OpDef{.id = {kOnwardDomain, "DropoutTrain"}, .summary = "random zeros keyed by seed, site, step and row of the batch",
                     .inputs = {2, 3}, .outputs = {1, 2}, .infer = infer_train, .gradient = train_gradient,
                     .distribute = distribute_train, .samples = train_samples, .in_place = {{0, 0}}, .constant_folds = false});
}

}  // namespace onward
