#include "ops/softmax/along_axis.h"

#include "ops/core/axes.h"
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"

namespace onward {

void infer_along_axis(InferContext& context) {
  const Shape shape = context.shape(0);
  if (!shape.empty()) resolve_axis(context.attributes().get_int("axis", -1), shape.size());
  context.set(0, context.dtype(0), shape);
}

void normalise_along_axis(NormaliseContext& context) {
  Node& node = context.node();
  Graph& graph = context.graph();
  Value& data = *node.input(0);
  const Shape shape = data.type.shape();
  const bool coerced = context.opset() < 13;
  const int64_t axis = resolve_axis(node.attributes.get_int("axis", coerced ? 1 : -1), shape.size(), coerced);
  int64_t rows = 1, columns = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) (static_cast<int64_t>(i) < axis ? rows : columns) *= shape[i];
  const auto position = static_cast<std::size_t>(axis);
  if (!coerced || (position < shape.size() && columns == shape[position])) {
    node.attributes = Attributes{{"axis", axis}};
    return;
  }
  const Shape matrix{rows, columns};
  Node& in = graph.add_node({"", "Reshape"}, {&data}, {data.name() + ".matrix"}, {{"shape", matrix}}, &node);
  Node& along =
      graph.add_node(node.op(), {in.output(0)}, {node.output(0)->name() + ".matrix"}, {{"axis", int64_t{1}}}, &node);
  for (Node* added : {&in, &along}) {
    added->name = node.name;
    added->output(0)->type = TensorType(data.type.dtype, matrix);
  }
  graph.set_op(node, {"", "Reshape"});
  graph.set_inputs(node, {along.output(0)});
  node.attributes = Attributes{{"shape", shape}};
}

namespace {

void check_lines_are_whole(const DistributionContext& context) {
  const Node& node = context.node();
  const std::size_t rank = node.input(0)->type.shape().size();
  const bool along_rows = rank > 0 && resolve_axis(node.attributes.get_int("axis", -1), rank) == 0;
  if (along_rows && context.input(0) == Distribution::kBatchSplit) {
    context.fail("normalises over the rows of a batch that is split over the replicas");
  }
}

std::vector<SampleCase> cases(std::size_t inputs) {
  std::vector<SampleCase> list;
  const auto add = [&](const char* name, const Shape& shape, int64_t axis) {
    SampleCase sample{.name = name, .attributes = {{"axis", axis}}, .gradients = {0}};
    sample.inputs.assign(inputs, SampleInput{.shape = shape, .low = -2, .high = 2});
    list.push_back(sample);
  };
  add("classes", {3, 10}, 1);
  add("channels", {2, 3, 4, 5}, 1);
  add("rows", {3, 4}, 0);
  add("line", {5}, 0);
  return list;
}

}  // namespace

void distribute_along_axis(DistributionContext& context) {
  check_lines_are_whole(context);
  context.pointwise();
}

void distribute_grad_along_axis(DistributionContext& context) {
  check_lines_are_whole(context);
  context.pointwise(true);
}

std::vector<SampleCase> samples_along_axis() { return cases(1); }

std::vector<SampleCase> grad_samples_along_axis() {
  std::vector<SampleCase> list = cases(2);
  for (SampleCase& sample : list) sample.gradients.clear();
  return list;
}

}  // namespace onward
