// Add, Sub, Mul, Div with NumPy broadcasting, and Neg.
#include <fmt/format.h>

#include "ops/arithmetic/legacy_broadcast.h"
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void infer_binary(InferContext& context) {
  const Shape a = context.shape(0), b = context.shape(1);
  const std::optional<Shape> shape = broadcast_shape(a, b);
  context.require(shape.has_value(), "shapes that broadcast to each other", to_string(a) + " and " + to_string(b));
  context.require(context.dtype(0) == context.dtype(1), "operands of one type",
                  dtype_name(context.dtype(0)) + " and " + dtype_name(context.dtype(1)));
  context.set(0, context.dtype(0), *shape);
}

void infer_unary(InferContext& context) { context.set(0, context.dtype(0), context.shape(0)); }

// Rows stay rows only if dimension 0 of a split operand is dimension 0 of the result.
void check_rows(DistributionContext& context) {
  const Shape out = context.node().output(0)->type.shape();
  for (std::size_t i = 0; i < 2; ++i) {
    if (context.input(i) == Distribution::kBatchSplit && context.node().input(i)->type.shape().size() != out.size()) {
      context.fail("broadcasts the rows of a batch along another dimension");
    }
  }
}

// A sum of sums is a sum; a sum plus something that every replica has would count the latter once per replica.
void distribute_sum(DistributionContext& context) {
  check_rows(context);
  const bool a = context.input(0) == Distribution::kPartial, b = context.input(1) == Distribution::kPartial;
  if (a != b) {
    context.fail("adds a term that does not depend on the batch to a sum over the batch that is not complete yet");
  }
  context.pointwise(true);
}

void distribute_product(DistributionContext& context) {
  check_rows(context);
  const bool both = context.input(0) == Distribution::kPartial && context.input(1) == Distribution::kPartial;
  context.pointwise(!both);
}

void distribute_quotient(DistributionContext& context) {
  check_rows(context);
  context.pointwise(context.input(1) != Distribution::kPartial);
}

void distribute_linear(DistributionContext& context) { context.pointwise(true); }

Value* product(GradientContext& context, Value* a, Value* b) { return context.emit("Mul", {a, b}); }

void set_reduced(GradientContext& context, std::size_t i, Value* gradient) {
  context.set_dx(i, context.reduce_to(gradient, context.x(i)->type.shape()));
}

void gradient_add(GradientContext& context) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (context.wants(i)) set_reduced(context, i, context.dy(0));
  }
}

void gradient_sub(GradientContext& context) {
  if (context.wants(0)) set_reduced(context, 0, context.dy(0));
  if (context.wants(1)) {
    Value* reduced = context.reduce_to(context.dy(0), context.x(1)->type.shape());
    context.set_dx(1, context.emit("Neg", {reduced}));
  }
}

void gradient_mul(GradientContext& context) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (context.wants(i)) set_reduced(context, i, product(context, context.dy(0), context.x(1 - i)));
  }
}

// d(a/b)/da = 1/b, d(a/b)/db = -y/b.
void gradient_div(GradientContext& context) {
  if (!context.wants(0) && !context.wants(1)) return;
  Value* quotient = context.emit("Div", {context.dy(0), context.x(1)});
  if (context.wants(0)) set_reduced(context, 0, quotient);
  if (context.wants(1)) {
    Value* reduced = context.reduce_to(product(context, quotient, context.y(0)), context.x(1)->type.shape());
    context.set_dx(1, context.emit("Neg", {reduced}));
  }
}

void gradient_neg(GradientContext& context) { context.set_dx(0, context.emit("Neg", {context.dy(0)})); }

SampleCase pair(const char* name, Shape a, Shape b) {
  // Away from zero on both sides: the second operand divides.
  return {.name = name,
          .inputs = {SampleInput{.shape = std::move(a), .low = -2, .high = 2},
                     SampleInput{.shape = std::move(b), .low = 0.5, .high = 2}},
          .gradients = {0, 1}};
}

SampleCase integers(const char* name, DType dtype) {
  return {.name = name,
          .inputs = {SampleInput{.shape = {2, 3}, .low = -9, .high = 9, .dtype = dtype},
                     SampleInput{.shape = {3}, .low = 1, .high = 9, .dtype = dtype}}};
}

std::vector<SampleCase> binary_samples() {
  return {pair("equal shapes", {2, 3, 4, 5}, {2, 3, 4, 5}),
          pair("per channel", {2, 3, 4, 5}, {3, 1, 1}),
          pair("last axis", {4, 7}, {7}),
          pair("scalar second", {2, 3}, {}),
          pair("scalar first", {}, {2, 3}),
          pair("both broadcast", {4, 1, 5}, {3, 1}),
          pair("leading one", {1, 3, 2}, {2, 3, 1}),
          pair("vector by one", {1}, {6}),
          pair("no rows", {0, 3}, {3}),
          pair("rank 1", {37}, {37}),
          integers("int32", DType::kInt32),
          integers("int64", DType::kInt64)};
}

std::vector<SampleCase> unary_samples() {
  return {{.name = "image", .inputs = {SampleInput{.shape = {2, 3, 4, 5}}}, .gradients = {0}},
          {.name = "scalar", .inputs = {SampleInput{.shape = {}}}, .gradients = {0}},
          {.name = "int32", .inputs = {SampleInput{.shape = {7}, .low = -9, .high = 9, .dtype = DType::kInt32}}},
          {.name = "int64", .inputs = {SampleInput{.shape = {7}, .low = -9, .high = 9, .dtype = DType::kInt64}}}};
}

OpDef binary(const char* name, const char* summary) {
  return {.id = {"", name},
          .versions = {1, 6, 7, 13, 14},
          .summary = summary,
          .inputs = {2, 2},
          .outputs = {1, 1},
          .infer = infer_binary,
          .normalise = align_legacy_broadcast,
          .samples = binary_samples,
          .in_place = {{0, 0}, {1, 0}}};
}

}  // namespace

void register_arithmetic(Registry& registry) {
  OpDef add = binary("Add", "a + b, broadcasting");
  add.gradient = gradient_add, add.distribute = distribute_sum;
  registry.add(std::move(add));
  OpDef sub = binary("Sub", "a - b, broadcasting");
  sub.gradient = gradient_sub, sub.distribute = distribute_sum;
  registry.add(std::move(sub));
  OpDef mul = binary("Mul", "a * b, broadcasting");
  mul.gradient = gradient_mul, mul.distribute = distribute_product;
  registry.add(std::move(mul));
  OpDef div = binary("Div", "a / b, broadcasting; integers truncate");
  div.gradient = gradient_div, div.distribute = distribute_quotient;
  registry.add(std::move(div));
  registry.add(OpDef{.id = {"", "Neg"},
                     .versions = {1, 6, 13},
                     .summary = "-x",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer_unary,
                     .gradient = gradient_neg,
                     .distribute = distribute_linear,
                     .samples = unary_samples,
                     .in_place = {{0, 0}}});
}

}  // namespace onward
