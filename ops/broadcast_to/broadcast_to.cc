// onward::BroadcastTo: x repeated to the attribute `shape`, by NumPy's rules, any element type. Expand (ONNX) becomes
// it.
//
// `batch`=1 says that the repeated rows are those of a batch, each replica holding its own: the gradient of a sum over
// the rows. Without it a value that is the same on every replica stays so.
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

const OpId kBroadcastTo{kOnwardDomain, "BroadcastTo"};

void infer(InferContext& context) {
  const Shape to = context.attributes().get_ints("shape");
  context.require(broadcast_shape(context.shape(0), to) == to, "a shape that broadcasts to " + to_string(to),
                  to_string(context.shape(0)));
  context.set(0, context.dtype(0), to);
}

void gradient(GradientContext& context) {
  context.set_dx(0, context.reduce_to(context.dy(0), context.x(0)->type.shape()));
}

void distribute(DistributionContext& context) {
  const Shape from = context.node().input(0)->type.shape();
  const Shape to = context.node().output(0)->type.shape();
  if (context.node().attributes.get_int("batch", 0) != 0) {
    if (context.input(0) == Distribution::kPartial) {
      context.fail("gives to the rows of the batch a sum that is not complete before it is added over the replicas");
    }
    context.set_all(Distribution::kBatchSplit);
    return;
  }
  if (context.input(0) == Distribution::kBatchSplit && (from.size() != to.size() || from[0] != to[0])) {
    context.fail("repeats a batch that is split over the replicas along dimension 0");
  }
  context.set_all(context.input(0));
}

std::vector<SampleCase> samples() {
  return {{.name = "channels",
           .inputs = {SampleInput{.shape = {3, 1, 1}}},
           .attributes = {{"shape", Shape{2, 3, 4, 5}}},
           .gradients = {0}},
          {.name = "scalar",
           .inputs = {SampleInput{.shape = {}}},
           .attributes = {{"shape", Shape{2, 3}}},
           .gradients = {0}},
          {.name = "spatial",
           .inputs = {SampleInput{.shape = {2, 3, 1, 1}}},
           .attributes = {{"shape", Shape{2, 3, 4, 5}}},
           .gradients = {0}},
          {.name = "rows",
           .inputs = {SampleInput{.shape = {2, 1}}},
           .attributes = {{"shape", Shape{2, 4}}},
           .gradients = {0}},
          {.name = "same",
           .inputs = {SampleInput{.shape = {2, 3}}},
           .attributes = {{"shape", Shape{2, 3}}},
           .gradients = {0}}};
}

// ---- Expand: the shape is an input that broadcasts both ways.

void infer_expand(InferContext& context) {
  const HostTensor* shape = context.constant(1);
  context.require(shape != nullptr, "a constant shape", "a computed one");
  const std::vector<int64_t> wanted = shape->to_int64();
  const auto result = broadcast_shape(context.shape(0), wanted);
  context.require(result.has_value(), "a shape that fits " + to_string(context.shape(0)), to_string(wanted));
  context.set(0, context.dtype(0), *result);
}

void normalise_expand(NormaliseContext& context) {
  Node& node = context.node();
  const std::vector<int64_t> wanted = context.constant(1)->to_int64();
  const Shape from = node.input(0)->type.shape();
  // Shapes that do not fit are reported by the shape rule of BroadcastTo.
  node.attributes = Attributes{{"shape", broadcast_shape(from, wanted).value_or(wanted)}};
  context.drop_inputs_from(1);
  context.graph().set_op(node, kBroadcastTo);
}

}  // namespace

void register_broadcast_to(Registry& registry) {
  registry.add(OpDef{.id = kBroadcastTo,
                     .summary = "repeats a tensor to a shape",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .distribute = distribute,
                     .samples = samples});
  registry.add(OpDef{.id = {"", "Expand"},
                     .versions = {8, 13},
                     .summary = "repeats a tensor to a shape (becomes onward::BroadcastTo)",
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .infer = infer_expand,
                     .normalise = normalise_expand});
}

}  // namespace onward
