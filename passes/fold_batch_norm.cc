#include "passes/fold_batch_norm.h"

#include <cmath>
#include <vector>

namespace onward {

namespace {

const HostTensor* constant(const Value* value) {
  return value && value->role == Role::kConstant && !value->data.empty() ? &value->data : nullptr;
}

// The convolution before the node, if the node may be folded into it.
Node* foldable_conv(const Graph& graph, const Node& norm) {
  if (!norm.is("BatchNormalization") || norm.attributes.get_int("training_mode", 0) != 0 || norm.outputs().size() > 1) {
    return nullptr;
  }
  for (std::size_t i = 1; i < 5; ++i) {
    if (!constant(norm.input(i))) return nullptr;
  }
  Node* conv = norm.input(0)->producer();
  if (!conv || !conv->is("Conv") || norm.input(0)->uses().size() != 1 || graph.is_output(*norm.input(0)))
    return nullptr;
  const bool shared_weight = conv->input(1)->uses().size() != 1;
  const bool other_bias = conv->input(2) && !constant(conv->input(2));
  return constant(conv->input(1)) && !shared_weight && !other_bias ? conv : nullptr;
}

struct Affine {
  std::vector<double> factor, shift;  // y = x*factor + shift, per channel
};

Affine affine_of(const Node& norm) {
  const double epsilon = norm.attributes.get_double("epsilon", 1e-5);
  const auto values = [&](std::size_t i) { return constant(norm.input(i))->to_double(); };
  const std::vector<double> scale = values(1), bias = values(2), mean = values(3), variance = values(4);
  Affine affine;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    affine.factor.push_back(scale[c] / std::sqrt(variance[c] + epsilon));
    affine.shift.push_back(bias[c] - mean[c] * affine.factor.back());
  }
  return affine;
}

HostTensor scaled_weight(const HostTensor& weight, const Affine& affine) {
  std::vector<double> values = weight.to_double();
  const std::size_t row = values.size() / affine.factor.size();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= affine.factor[i / row];
  return HostTensor::from<double>(weight.shape(), values).cast(weight.dtype());
}

HostTensor moved_bias(const HostTensor* bias, const Affine& affine, DType dtype) {
  std::vector<double> values = affine.shift;
  if (bias) {
    const std::vector<double> old = bias->to_double();
    for (std::size_t c = 0; c < values.size(); ++c) values[c] += old[c] * affine.factor[c];
  }
  return HostTensor::from<double>({static_cast<int64_t>(values.size())}, values).cast(dtype);
}

void fold(Graph& graph, Node& conv, Node& norm) {
  const Affine affine = affine_of(norm);
  Value& weight = *conv.input(1);
  const HostTensor bias = moved_bias(constant(conv.input(2)), affine, weight.data.dtype());
  weight.data = scaled_weight(weight.data, affine);
  Value* old_bias = conv.input(2);
  const std::string bias_name = old_bias ? old_bias->name() : weight.name() + ".bias";
  graph.set_input(conv, 2, nullptr);
  if (old_bias && old_bias->uses().empty()) graph.erase(*old_bias);
  graph.set_input(conv, 2, &graph.add_data(bias_name, bias));
  const std::string name = norm.output(0)->name();
  graph.replace_uses(*norm.output(0), *conv.output(0));
  const std::vector<Value*> operands = norm.inputs();
  graph.erase(norm);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    if (operands[i] && operands[i]->uses().empty()) graph.erase(*operands[i]);
  }
  graph.rename(*conv.output(0), name);
}

}  // namespace

int fold_batch_norm(Graph& graph) {
  int folded = 0;
  for (Node* node : graph.node_list()) {
    if (Node* conv = foldable_conv(graph, *node)) {
      fold(graph, *conv, *node);
      ++folded;
    }
  }
  return folded;
}

}  // namespace onward
