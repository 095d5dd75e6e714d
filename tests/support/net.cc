#include "tests/support/net.h"

#include <cstring>
#include <numeric>
#include <stdexcept>

#include "graph/scalars.h"
#include "ops/core/infer_context.h"
#include "passes/accumulation.h"
#include "passes/backward.h"
#include "passes/batch_norm_lowering.h"
#include "passes/batch_norm_mode.h"
#include "passes/clip.h"
#include "passes/data_parallel.h"
#include "passes/finite_guard.h"
#include "passes/fuse.h"
#include "passes/optimizer.h"
#include "passes/outputs.h"
#include "passes/prune.h"
#include "tests/support/tensors.h"

namespace onward::test {

Value* Net::parameter(const std::string& name, const Shape& shape, const std::vector<double>& values) {
  return &graph.add_data(name, tensor_of(dtype_, shape, values), Role::kParameter);
}

Value* Net::parameter(const std::string& name, const Shape& shape, double low, double high) {
  return &graph.add_data(name, random_tensor(dtype_, shape, low, high, std::hash<std::string>()(name)),
                         Role::kParameter);
}

Value* Net::constant(const std::string& name, const Shape& shape, const std::vector<double>& values) {
  return &graph.add_data(name, tensor_of(dtype_, shape, values));
}

Value* Net::op(const char* op, std::vector<Value*> inputs, const std::string& name, Attributes attributes) {
  Node& node = graph.add_node({"", op}, std::move(inputs), {name}, std::move(attributes));
  node.name = name;
  infer_node(node, registry());
  return node.output(0);
}

Value* Net::batch_norm(Value* x, const std::string& name, const Attributes& attributes) {
  const Shape channels{x->type.shape().at(1)};
  Value* mean = &graph.add_data(name + ".running_mean", HostTensor(dtype_, channels), Role::kState);
  Value* variance = &graph.add_data(name + ".running_var",
                                    tensor_of(dtype_, channels, std::vector<double>(channels[0], 1)), Role::kState);
  Attributes all = attributes;
  all.set("training_mode", int64_t{1});
  Node& node = graph.add_node(
      {"", "BatchNormalization"},
      {x, parameter(name + ".scale", channels, 0.5, 1.5), parameter(name + ".bias", channels), mean, variance},
      {name, name + ".next_mean", name + ".next_var", name + ".saved_mean", name + ".saved_inv_std"}, all);
  node.name = name;
  infer_node(node, registry());
  graph.add_update(*mean, *node.output(1));
  graph.add_update(*variance, *node.output(2));
  return node.output(0);
}

Value* Net::conv(Value* x, const std::string& name, int64_t channels, int64_t kernel, int64_t stride, bool bias) {
  const int64_t pad = kernel / 2;
  std::vector<Value*> inputs{x, parameter(name + ".w", {channels, x->type.shape().at(1), kernel, kernel})};
  if (bias) inputs.push_back(parameter(name + ".b", {channels}));
  return op("Conv", inputs, name,
            {{"kernel_shape", Shape{kernel, kernel}},
             {"strides", Shape{stride, stride}},
             {"pads", Shape{pad, pad, pad, pad}},
             {"dilations", Shape{1, 1}},
             {"group", int64_t{1}}});
}

void Net::loss_sum(Value* per_row) {
  output_loss(op("ReduceSum", {per_row}, "loss_sum", {{"axes", Shape{}}, {"keepdims", int64_t{0}}}));
}

void Net::cross_entropy(Value* scores) {
  output_loss(op("SoftmaxCrossEntropyLoss", {scores, labels(scores->type.shape()[0])}, "cross_entropy",
                 {{"reduction", std::string("sum")}}));
}

void Net::output_loss(Value* sum) {
  Value* denominator = &graph.add_input(kLossDenominator, {dtype_, {}}, Role::kScalar);
  graph.add_output(*op("Div", {sum, denominator}, kLossOutput));
}

std::vector<Pass> training_passes() {
  return {batch_norm_mode_pass(), backward_pass(),     prune_pass(),         batch_norm_lowering_pass(), fuse_pass(),
          prune_pass(),           accumulation_pass(), data_parallel_pass(), finite_guard_pass(),        clip_pass(),
          optimizer_pass(),       prune_pass()};
}

Program make_program(const Graph& forward, const ProgramOptions& options, const ProgramRequest& request) {
  Program program{forward.clone(), {}, {}};
  PassContext context{.options = options, .request = request, .registry = registry()};
  // The forward graphs of tests are static and have their loss.
  std::vector<Pass> passes{{.name = "given", .run = [](Graph&, PassContext&) {}, .ensures = {"static", "loss"}}};
  for (Pass& pass : training_passes()) passes.push_back(std::move(pass));
  run_passes(program.graph, passes, context);
  program.warnings = context.warnings;
  program.facts = context.facts;
  return program;
}

HostTensor rows_of(const HostTensor& tensor, int64_t begin, int64_t end) {
  Shape shape = tensor.shape();
  const std::size_t row_bytes = shape[0] ? tensor.bytes() / static_cast<std::size_t>(shape[0]) : 0;
  shape[0] = end - begin;
  HostTensor rows(tensor.dtype(), shape);
  if (rows.bytes()) {
    std::memcpy(rows.edit(), static_cast<const std::byte*>(tensor.data()) + row_bytes * static_cast<std::size_t>(begin),
                rows.bytes());
  }
  return rows;
}

Trainer::Trainer(Forward forward, ProgramOptions given, std::vector<int64_t> shares)
    : replicas(static_cast<int>(shares.size())),
      options([&] {
        given.replicas = static_cast<int>(shares.size());
        return given;
      }()),
      forward_(forward),
      shares_(std::move(shares)) {}

const Graph& Trainer::program(ProgramMode mode, int64_t rows, int64_t global_rows) {
  const ProgramKey key{mode, rows};
  if (!programs_.contains(key)) {
    programs_.emplace(key, make_program(forward_(rows), options, {mode, rows, global_rows}).graph);
  }
  return programs_.at(key);
}

NamedTensors Trainer::step(const NamedTensors& batch, double learning_rate, int micro_batches) {
  const int64_t samples = std::accumulate(shares_.begin(), shares_.end(), int64_t{0});
  ++steps_;
  std::vector<NamedTensors> outputs;
  for (int part = 0; part < micro_batches; ++part) {
    ProgramMode mode = part == 0 ? ProgramMode::kAccumulateFirst : ProgramMode::kAccumulateNext;
    if (part + 1 == micro_batches) mode = part == 0 ? ProgramMode::kTrain : ProgramMode::kTrainAccumulated;
    std::vector<const Graph*> graphs;
    std::vector<NamedTensors> inputs;
    int64_t first = samples / micro_batches * part;
    for (int64_t share : shares_) {
      const int64_t rows = share / micro_batches;
      graphs.push_back(&program(mode, rows, samples / micro_batches));
      NamedTensors bound;
      for (const auto& [name, tensor] : batch) bound[name] = rows_of(tensor, first, first + rows);
      const auto denominator = HostTensor::scalar<double>(static_cast<double>(samples));
      const Value* wanted = graphs.back()->find_value(kLossDenominator);
      bound[kLossDenominator] = wanted ? denominator.cast(wanted->type.dtype) : denominator;
      bound[kLearningRate] = HostTensor::scalar<double>(learning_rate);
      bound[kOptimizerStep] = HostTensor::scalar<int64_t>(steps_);
      inputs.push_back(std::move(bound));
      first += rows;
    }
    outputs = replicas.run(graphs, inputs);
  }
  for (const NamedTensors& other : outputs) {
    for (const auto& [name, tensor] : other) {
      if (!same_bits(tensor, outputs.front().at(name))) throw std::logic_error("replicas disagree on " + name);
    }
  }
  return outputs.front();
}

}  // namespace onward::test
