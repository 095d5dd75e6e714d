#include "tests/support/op_case.h"

#include <algorithm>

#include "graph/error.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "tests/support/kernel_driver.h"

namespace onward::test {

OpCase make_case(const OpDef& def, const SampleCase& sample, DType dtype) {
  return make_case(def, sample, sample_tensors(sample, dtype));
}

OpCase make_case(const OpDef& def, const SampleCase& sample, std::vector<MaybeTensor> inputs) {
  OpCase result;
  result.inputs = std::move(inputs);
  std::vector<Value*> values;
  for (const MaybeTensor& tensor : result.inputs) {
    const std::size_t i = values.size();
    const std::string name = "x" + std::to_string(i);
    // Shape rules read the values of constants: shapes, bounds. Such are the inputs whose values and type a sample
    // spells out.
    const SampleInput* given = i < sample.inputs.size() && sample.inputs[i] ? &*sample.inputs[i] : nullptr;
    const bool spelled_out = given && !given->values.empty() && (given->dtype != DType::kFloat64 || given->exact_type);
    if (!tensor) {
      values.push_back(nullptr);
    } else if (spelled_out) {
      values.push_back(&result.graph.add_data(name, *tensor));
    } else {
      values.push_back(&result.graph.add_input(name, tensor->type()));
    }
  }
  std::vector<std::string> names;
  for (int i = 0; i < sample.outputs; ++i) names.push_back("y" + std::to_string(i));
  result.node = &result.graph.add_node(def.id, values, names, sample.attributes);
  infer_node(*result.node, registry());
  return result;
}

std::vector<MaybeTensor> run_op(const OpId& op, const std::vector<MaybeTensor>& inputs, const Attributes& attributes,
                                int outputs, int max_priority) {
  const OpCase made = make_case(registry().op(op), {.outputs = outputs, .attributes = attributes}, inputs);
  return run_node(*made.node, inputs, max_priority);
}

NormalCase normal_case(const char* op, int64_t opset, const std::vector<TypeOrTensor>& inputs,
                       const Attributes& attributes, int outputs) {
  NormalCase result;
  Graph& graph = result.graph;
  graph.opsets[""] = opset;
  std::vector<Value*> values;
  for (const TypeOrTensor& input : inputs) {
    const std::string name = "x" + std::to_string(values.size());
    if (const auto* type = std::get_if<TensorType>(&input)) {
      values.push_back(&graph.add_input(name, *type));
    } else if (const auto* tensor = std::get_if<HostTensor>(&input)) {
      values.push_back(&graph.add_data(name, *tensor));
    } else {
      values.push_back(nullptr);
    }
  }
  std::vector<std::string> names;
  for (int i = 0; i < outputs; ++i) names.push_back("y" + std::to_string(i));
  result.node = &graph.add_node({"", op}, values, names, attributes);
  NormaliseContext context(graph, *result.node, opset, true);
  registry().op({"", op}).normalise(context);
  for (const auto& node : graph.nodes()) infer_node(*node, registry());
  return result;
}

HostTensor NormalCase::run(const std::vector<HostTensor>& inputs) const {
  Tensors known;
  for (std::size_t i = 0; i < inputs.size(); ++i) known.emplace(graph.inputs().at(i), inputs[i]);
  return evaluate(graph, std::move(known)).at(node->output(0));
}

Tensors evaluate(const Graph& graph, Tensors known) {
  for (const Value* value : graph.value_list()) {
    if (!value->data.empty()) known.emplace(value, value->data);
  }
  for (const auto& node : graph.nodes()) {
    std::vector<MaybeTensor> inputs;
    for (const Value* value : node->inputs()) inputs.push_back(value ? MaybeTensor(known.at(value)) : std::nullopt);
    const std::vector<MaybeTensor> outputs = run_node(*node, inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i]) known.insert_or_assign(node->output(i), *outputs[i]);
    }
  }
  return known;
}

std::vector<MaybeTensor> gradients_by_rule(OpCase& op_case, const std::vector<MaybeTensor>& dys,
                                           const std::vector<bool>& wanted) {
  Graph& graph = op_case.graph;
  std::vector<Value*> dy_values;
  for (const MaybeTensor& dy : dys) dy_values.push_back(dy ? &graph.add_data("dy", *dy) : nullptr);
  GradientContext context(graph, *op_case.node, dy_values, wanted, registry());
  registry().op(op_case.node->op()).gradient(context);

  Tensors known;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    if (op_case.inputs[i]) known.emplace(op_case.node->input(i), *op_case.inputs[i]);
  }
  const Tensors all = evaluate(graph, std::move(known));
  std::vector<MaybeTensor> gradients;
  for (const Value* dx : context.dxs()) gradients.push_back(dx ? MaybeTensor(all.at(dx)) : std::nullopt);
  return gradients;
}

namespace {

std::vector<std::vector<double>> forward(const OpCase& op_case, const std::vector<MaybeTensor>& inputs) {
  std::vector<std::vector<double>> outputs;
  for (const MaybeTensor& output : run_node(*op_case.node, inputs)) {
    outputs.push_back(output && is_floating(output->dtype()) ? output->to_double() : std::vector<double>{});
  }
  return outputs;
}

}  // namespace

std::vector<std::pair<int64_t, double>> gradient_by_differences(const OpCase& op_case,
                                                                const std::vector<MaybeTensor>& dys, std::size_t input,
                                                                int64_t elements) {
  constexpr double kStep = 1e-5;
  const int64_t count = op_case.inputs[input]->count();
  std::vector<std::pair<int64_t, double>> derivatives;
  for (int64_t k = 0; k < std::min(count, elements); ++k) {
    const int64_t position = count <= elements ? k : k * count / elements;
    std::vector<MaybeTensor> moved = op_case.inputs;
    double& x = moved[input]->edit_values<double>()[static_cast<std::size_t>(position)];
    const double start = x;
    x = start + kStep;
    const auto above = forward(op_case, moved);
    x = start - kStep;
    const auto below = forward(op_case, moved);
    double sum = 0;
    for (std::size_t i = 0; i < dys.size(); ++i) {
      if (!dys[i]) continue;
      const std::vector<double> dy = dys[i]->to_double();
      for (std::size_t j = 0; j < dy.size(); ++j) sum += dy[j] * (above[i][j] - below[i][j]);
    }
    derivatives.emplace_back(position, sum / (2 * kStep));
  }
  return derivatives;
}

}  // namespace onward::test
