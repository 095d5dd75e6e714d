// Reshape: the same elements under another shape. Normal form: attribute `shape`, all dimensions resolved.
//
// A batch that the file has baked in. Exporters write the batch of their example into the shape: [1, 512] or [1, -1]
// where [0, 512] was meant. If the input is computed from a batch, and the shape starts with a number other than the
// input's rows,
//   * and contains -1: when the file declares a batch size (other than the program's), -1 is what it was at that batch
//   size
//     and the first dimension grows in proportion, so [1, -1] of 1x512x1x1 is Nx512 for N rows;
//   * and does not fit the elements: the other dimensions are kept and the first one is whatever is left.
#include "ops/core/batch_dependence.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"
#include "ops/core/view.h"
#include "ops/reshape/resolve_shape.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  const Shape shape = context.attributes().get_ints("shape");
  context.require(element_count(shape) == element_count(context.shape(0)),
                  "a shape for the elements of " + to_string(context.shape(0)), to_string(shape));
  context.set(0, context.dtype(0), shape);
}

void normalise(NormaliseContext& context) {
  context.input_to_ints(1, "shape");
  Attributes& attributes = context.node().attributes;
  const Value& data = *context.node().input(0);
  const ReshapeRequest request{attributes.get_ints("shape"), attributes.get_int("allowzero", 0) != 0};
  const BatchOfFile batch{depends_on_batch(data), context.exported_batch(), context.local_batch()};
  attributes = Attributes{{"shape", resolve_shape(data.type.shape(), request, batch)}};
}

std::vector<SampleCase> samples() {
  return {{.name = "flatten",
           .inputs = {SampleInput{.shape = {2, 3, 4}}},
           .attributes = {{"shape", Shape{2, 12}}},
           .gradients = {0}},
          {.name = "integers",
           .inputs = {SampleInput{.shape = {6}, .low = 0, .high = 9, .dtype = DType::kInt64}},
           .attributes = {{"shape", Shape{2, 3}}}},
          {.name = "to_scalar",
           .inputs = {SampleInput{.shape = {1, 1}}},
           .attributes = {{"shape", Shape{}}},
           .gradients = {0}}};
}

}  // namespace

void register_reshape(Registry& registry) {
  registry.add(OpDef{.id = {"", "Reshape"},
                     .versions = {1, 5, 13, 14, 19, 21, 23, 24, 25},
                     .summary = "the same elements under another shape",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = view_gradient,
                     .normalise = normalise,
                     .distribute = distribute_view,
                     .samples = samples,
                     .views = {{0, 0}}});
}

}  // namespace onward
