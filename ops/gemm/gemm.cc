// Gemm: alpha * A' * B' + beta * C. Its gradients are products again, and a sum for C.
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"
#include "ops/gemm/geometry.h"

namespace onward {
namespace {

void infer(InferContext& context) {
  const Shape c = context.has_input(2) ? context.shape(2) : Shape{};
  const GemmGeometry geometry =
      gemm_geometry(context.attributes(), context.shape(0), context.shape(1), context.has_input(2) ? &c : nullptr);
  context.set(0, context.dtype(0), {geometry.m, geometry.n});
}

// Versions before 7 say with an attribute whether C may be broadcast. One that fits is broadcast in any case.
void normalise(NormaliseContext& context) { context.node().attributes.erase("broadcast"); }

void gradient(GradientContext& context) {
  const bool trans_a = context.attributes().get_int("transA", 0) != 0;
  const bool trans_b = context.attributes().get_int("transB", 0) != 0;
  const double alpha = context.attributes().get_double("alpha", 1);
  const double beta = context.attributes().get_double("beta", 1);
  Value *a = context.x(0), *b = context.x(1), *dy = context.dy(0);
  const auto product = [&](Value* left, bool trans_left, Value* right, bool trans_right) {
    return context.emit(kGemm, {left, right},
                        {{"alpha", alpha}, {"transA", int64_t{trans_left}}, {"transB", int64_t{trans_right}}});
  };
  if (context.wants(0)) context.set_dx(0, trans_a ? product(b, trans_b, dy, true) : product(dy, false, b, !trans_b));
  if (context.wants(1)) context.set_dx(1, trans_b ? product(dy, true, a, trans_a) : product(a, !trans_a, dy, false));
  if (context.wants(2)) {
    Value* dc = context.reduce_to(dy, context.x(2)->type.shape());
    if (beta != 1) dc = context.emit("Mul", {dc, context.scalar(beta, *dc)});
    context.set_dx(2, dc);
  }
}

// The batch is either the rows of Y (A's rows), or what is summed over (A's columns of a transposed A, B's rows).
void distribute(DistributionContext& context) {
  const Attributes& attributes = context.node().attributes;
  const bool trans_a = attributes.get_int("transA", 0) != 0, trans_b = attributes.get_int("transB", 0) != 0;
  const bool a_split = context.input(0) == Distribution::kBatchSplit,
             b_split = context.input(1) == Distribution::kBatchSplit;
  if (a_split && b_split && trans_a && !trans_b) {
    if (context.node().input(2)) context.fail("adds a value to a product that is summed over the replicas");
    context.set(0, Distribution::kPartial);
    return;
  }
  if (b_split || (a_split && trans_a)) context.fail("would have the samples of the batch as its columns");
  const Value* c = context.node().input(2);
  if (c && c->distribution == Distribution::kBatchSplit && (!a_split || c->type.shape().size() < 2)) {
    context.fail("adds a value that depends on the batch to rows that do not");
  }
  const bool both = context.input(0) == Distribution::kPartial && context.input(1) == Distribution::kPartial;
  context.pointwise(!c && !both);
}

double flops(const Node& node) {
  return gemm_geometry(node.attributes, node.input(0)->type.shape(), node.input(1)->type.shape(), nullptr).flops();
}

std::vector<SampleCase> samples() {
  const auto sample = [](const char* name, Shape a, Shape b, std::optional<Shape> c, Attributes attributes) {
    SampleCase s{.name = name,
                 .inputs = {SampleInput{a}, SampleInput{b}},
                 .attributes = std::move(attributes),
                 .gradients = {0, 1}};
    if (c) {
      s.inputs.push_back(SampleInput{*c});
      s.gradients.push_back(2);
    }
    return s;
  };
  const Attribute one = int64_t{1};
  return {sample("plain", {3, 4}, {4, 5}, std::nullopt, {}),
          sample("linear", {3, 4}, {5, 4}, Shape{5}, {{"transB", one}}),
          sample("trans-a", {4, 3}, {4, 5}, Shape{3, 5}, {{"transA", one}}),
          sample("trans-both", {4, 3}, {5, 4}, Shape{3, 1}, {{"transA", one}, {"transB", one}}),
          sample("factors", {3, 4}, {4, 5}, Shape{1, 5}, {{"alpha", 0.5f}, {"beta", -0.3f}}),
          sample("factors-trans", {4, 3}, {5, 4}, Shape{1},
                 {{"alpha", 1.5}, {"beta", 2.0}, {"transA", one}, {"transB", one}}),
          sample("alpha-alone", {2, 3}, {3, 2}, std::nullopt, {{"alpha", 0.25f}, {"beta", 0.5f}}),
          sample("scalar-c", {2, 3}, {3, 2}, Shape{}, {}),
          sample("beta-zero", {2, 3}, {3, 2}, Shape{2}, {{"beta", 0.0f}}),
          sample("one-row", {1, 7}, {7, 1}, Shape{1}, {}),
          sample("larger", {33, 70}, {50, 70}, Shape{50}, {{"transB", one}}),
          sample("empty-batch", {0, 4}, {5, 4}, Shape{5}, {{"transB", one}}),
          sample("empty-sum", {0, 4}, {0, 5}, std::nullopt, {{"transA", one}})};
}

}  // namespace

void register_gemm(Registry& registry) {
  registry.add(OpDef{.id = kGemm,
                     .versions = {1, 6, 7, 9, 11, 13},
                     .summary = "alpha * A' * B' + beta * C",
                     .inputs = {2, 3},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .normalise = normalise,
                     .distribute = distribute,
                     .flops = flops,
                     .samples = samples,
                     .precision = PrecisionClass::kCompute});
}

}  // namespace onward
