// MatMul: NumPy's matmul. Where one operand is a plain matrix its gradient is one Gemm over all rows, which also lets
// the distribution rules see that it is a sum over the batch.
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"
#include "ops/matmul/geometry.h"

namespace onward {
namespace {

const OpId kMatMul{"", "MatMul"};

void infer(InferContext& context) {
  context.set(0, context.dtype(0), matmul_geometry(context.shape(0), context.shape(1)).output);
}

Value* reshape(GradientContext& context, Value* value, const Shape& shape) {
  return value->type.shape() == shape ? value : context.emit("Reshape", {value}, {{"shape", shape}});
}

Value* transpose(GradientContext& context, Value* value) {
  std::vector<int64_t> perm;
  for (std::size_t i = 0; i < value->type.shape().size(); ++i) perm.push_back(static_cast<int64_t>(i));
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return context.emit("Transpose", {value}, {{"perm", perm}});
}

Shape with_matrix(Shape batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

Value* gradient_of_a(GradientContext& context, Value* dy, Value* b, const Shape& a) {
  if (a.size() == 2 && b->type.shape().size() == 2) {
    return context.emit("Gemm", {dy, b}, {{"transB", int64_t{1}}});
  }
  return context.reduce_to(context.emit(kMatMul, {dy, transpose(context, b)}), a);
}

Value* gradient_of_b(GradientContext& context, Value* a, Value* dy, const Shape& b) {
  if (b.size() != 2) return context.reduce_to(context.emit(kMatMul, {transpose(context, a), dy}), b);
  const int64_t rows = b[1] > 0 ? element_count(dy->type.shape()) / b[1] : 0;
  return context.emit("Gemm", {reshape(context, a, {rows, b[0]}), reshape(context, dy, {rows, b[1]})},
                      {{"transA", int64_t{1}}});
}

void gradient(GradientContext& context) {
  const Shape a = context.x(0)->type.shape(), b = context.x(1)->type.shape();
  const MatMulGeometry g = matmul_geometry(a, b);
  Value* left = reshape(context, context.x(0), with_matrix(g.a_batch, g.m, g.k));
  Value* right = reshape(context, context.x(1), with_matrix(g.b_batch, g.k, g.n));
  Value* dy = reshape(context, context.dy(0), with_matrix(g.batch, g.m, g.n));
  if (context.wants(0)) {
    context.set_dx(0, reshape(context, gradient_of_a(context, dy, right, left->type.shape()), a));
  }
  if (context.wants(1)) {
    context.set_dx(1, reshape(context, gradient_of_b(context, left, dy, right->type.shape()), b));
  }
}

// Whether dimension 0 of an operand is dimension 0 of Y: its first batch dimension, or the rows of a plain matrix on
// the left.
bool leads_output(const Shape& own, const Shape& other, bool left) {
  if (own.size() > 2) return own.size() >= other.size();
  return left && own.size() == 2 && other.size() <= 2;
}

void distribute(DistributionContext& context) {
  const Shape a = context.node().input(0)->type.shape(), b = context.node().input(1)->type.shape();
  const bool a_split = context.input(0) == Distribution::kBatchSplit,
             b_split = context.input(1) == Distribution::kBatchSplit;
  if (a_split && b_split && a.size() == 1 && b.size() <= 2) {
    context.set(0, Distribution::kPartial);  // the samples are what is summed over
    return;
  }
  if ((a_split && !leads_output(a, b, true)) || (b_split && !leads_output(b, a, false)) ||
      (a_split && b_split && a.size() != b.size())) {
    context.fail("would not have the samples of the batch as its rows");
  }
  const bool both = context.input(0) == Distribution::kPartial && context.input(1) == Distribution::kPartial;
  context.pointwise(!both);
}

double flops(const Node& node) {
  return matmul_geometry(node.input(0)->type.shape(), node.input(1)->type.shape()).flops();
}

std::vector<SampleCase> samples() {
  const auto sample = [](const char* name, Shape a, Shape b) {
    return SampleCase{.name = name, .inputs = {SampleInput{a}, SampleInput{b}}, .gradients = {0, 1}};
  };
  return {sample("matrices", {3, 4}, {4, 5}),
          sample("batch", {2, 3, 4}, {2, 4, 5}),
          sample("linear-on-tokens", {2, 3, 4}, {4, 5}),
          sample("left-matrix", {3, 4}, {2, 4, 5}),
          sample("heads", {2, 2, 3, 4}, {2, 2, 4, 3}),
          sample("broadcast", {2, 1, 3, 4}, {3, 4, 2}),
          sample("row", {4}, {4, 5}),
          sample("column", {3, 4}, {4}),
          sample("dot", {4}, {4}),
          sample("row-batch", {4}, {2, 4, 3}),
          sample("batch-column", {2, 3, 4}, {4}),
          sample("larger", {3, 40, 70}, {70, 50}),
          sample("empty-batch", {0, 3, 4}, {4, 5})};
}

}  // namespace

void register_matmul(Registry& registry) {
  registry.add(OpDef{.id = kMatMul,
                     .versions = {1, 9, 13},
                     .summary = "matrix product, batched as in NumPy",
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .distribute = distribute,
                     .flops = flops,
                     .samples = samples,
                     .precision = PrecisionClass::kCompute});
}

}  // namespace onward
