// Optimizer steps, in PyTorch's forms (torch/optim/sgd.py, adam.py, adamw.py):
//   every step but AdamW:  g += weight_decay * p
//   SgdStep:       p' = p - lr * g
//   MomentumStep:  v' = momentum * v + g;  p' = p - lr * v', or with nesterov p - lr * (g + momentum * v')
//   AdamStep:      m' = m + (1 - beta1) * (g - m);  v' = beta2 * v + (1 - beta2) * g * g
//                  p' = p - lr / (1 - beta1^t) * m' / (sqrt(v') / sqrt(1 - beta2^t) + epsilon)
//                  `decoupled` (AdamW): p is multiplied by 1 - lr * weight_decay first, and g has no decay
// With apply = false nothing changes.
#include <fmt/format.h>

#include "graph/error.h"
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"
#include "ops/optimizers/step_operands.h"

namespace onward {
namespace {

void require_scalar(const InferContext& context, std::size_t i, DType dtype, const char* what) {
  context.require(context.type(i) == TensorType(dtype, Shape{}),
                  fmt::format("{} {} scalar as input {}", what, dtype_name(dtype), i), context.type(i).text());
}

void infer_step(InferContext& context, const StepOperands& operands) {
  const std::size_t n = StepOperands::count(context.attributes());
  context.require(
      n >= 1 && context.input_count() == operands.inputs(n) && context.output_count() == operands.outputs(n),
      fmt::format("{} inputs and {} outputs for {} parameters", operands.inputs(n), operands.outputs(n), n),
      fmt::format("{} and {}", context.input_count(), context.output_count()));
  require_scalar(context, 0, DType::kFloat64, "the learning rate, a");
  if (operands.scalars == 3) require_scalar(context, 1, DType::kInt64, "the step, an");
  if (context.has_input(operands.apply())) require_scalar(context, operands.apply(), DType::kBool, "apply, a");
  const DType dtype = context.dtype(operands.parameter(0));
  for (std::size_t i = 0; i < n; ++i) {
    const TensorType& parameter = context.type(operands.parameter(i));
    context.require(parameter.dtype == dtype, "parameters of one type, " + dtype_name(dtype), parameter.text());
    for (std::size_t k = 1; k < static_cast<std::size_t>(2 + operands.moments); ++k) {
      const std::size_t input = operands.parameter(k * n + i);
      context.require(context.type(input) == parameter,
                      fmt::format("{} as input {}, like its parameter", parameter.text(), input),
                      context.type(input).text());
    }
    for (std::size_t k = 0; k <= static_cast<std::size_t>(operands.moments); ++k) {
      context.set(k * n + i, parameter.dtype, parameter.shape());
    }
  }
}

// Every replica makes the same step, so everything it reads must be the same everywhere.
void distribute_step(DistributionContext& context, const StepOperands& operands) {
  const std::size_t n = StepOperands::count(context.node().attributes);
  for (std::size_t i = 0; i < context.node().inputs().size(); ++i) {
    if (context.input(i) == Distribution::kReplicated) continue;
    const bool tensor = i >= operands.parameter(0);
    const Value* named = tensor ? context.node().input(operands.parameter((i - operands.parameter(0)) % n)) : nullptr;
    const bool gradient = tensor && i >= operands.gradient(0, n) && i < operands.gradient(n, n);
    context.fail(fmt::format("updates '{}' with a {} that is {}: it must be the same on every replica",
                             named ? named->name() : "all parameters", gradient ? "gradient" : "value",
                             distribution_name(context.input(i))));
  }
  context.set_all(Distribution::kReplicated);
}

std::vector<InPlacePair> in_place_step(const Node& node, const StepOperands& operands) {
  const std::size_t n = StepOperands::count(node.attributes);
  std::vector<InPlacePair> pairs;
  for (std::size_t i = 0; i < n; ++i) {
    pairs.push_back({static_cast<int>(operands.parameter(i)), static_cast<int>(i)});
    for (int k = 0; k < operands.moments; ++k) {
      pairs.push_back(
          {static_cast<int>(operands.moment(k, i, n)), static_cast<int>(static_cast<std::size_t>(k + 1) * n + i)});
    }
  }
  return pairs;
}

double flops_step(const Node& node, double per_element) {
  double elements = 0;
  for (std::size_t i = 0; i < StepOperands::count(node.attributes); ++i) {
    elements += static_cast<double>(element_count(node.output(i)->type.shape()));
  }
  return per_element * elements;
}

// Binds the operands of one optimizer to the functions of a record.
template <const StepOperands& kOperands, int kFlops>
OpDef step_def(const OpId& id, const char* summary) {
  OpDef def{.id = id, .summary = summary};
  def.inputs = {static_cast<int>(kOperands.inputs(1)), kVariadic};
  def.outputs = {static_cast<int>(kOperands.outputs(1)), kVariadic};
  def.infer = [](InferContext& context) { infer_step(context, kOperands); };
  def.distribute = [](DistributionContext& context) { distribute_step(context, kOperands); };
  def.in_place_of = [](const Node& node) { return in_place_step(node, kOperands); };
  def.flops = [](const Node& node) { return flops_step(node, kFlops); };
  def.constant_folds = false;
  def.precision = PrecisionClass::kAccurate;
  return def;
}

// ---- samples

enum class Apply { kAbsent, kYes, kNo };

SampleInput learning_rate() { return {.shape = {}, .values = {0.05}, .exact_type = true}; }

SampleCase step_sample(const std::string& name, const StepOperands& operands, Attributes attributes, Apply apply) {
  const std::vector<Shape> shapes{{3, 5}, {}, {37}};
  SampleCase sample{.name = name, .inputs = {learning_rate()}};
  if (operands.scalars == 3) sample.inputs.push_back(SampleInput{.shape = {}, .dtype = DType::kInt64, .values = {3}});
  sample.inputs.push_back(apply == Apply::kAbsent
                              ? std::nullopt
                              : std::optional(SampleInput{
                                    .shape = {}, .dtype = DType::kBool, .values = {apply == Apply::kYes ? 1.0 : 0.0}}));
  for (int k = 0; k < 2 + operands.moments; ++k) {
    // The last moment of Adam is a mean of squares.
    for (const Shape& shape : shapes) sample.inputs.push_back(SampleInput{.shape = shape, .low = k == 3 ? 0.0 : -1.0});
  }
  sample.outputs = static_cast<int>(operands.outputs(shapes.size()));
  attributes.set("count", static_cast<int64_t>(shapes.size()));
  sample.attributes = std::move(attributes);
  return sample;
}

std::vector<SampleCase> sgd_samples() {
  return {step_sample("plain", kSgdOperands, {}, Apply::kAbsent),
          step_sample("decay", kSgdOperands, {{"weight_decay", 0.1}}, Apply::kYes),
          step_sample("skipped", kSgdOperands, {{"weight_decay", 0.1}}, Apply::kNo)};
}

std::vector<SampleCase> momentum_samples() {
  const Attributes plain{{"momentum", 0.9}},
      nesterov{{"momentum", 0.9}, {"nesterov", int64_t{1}}, {"weight_decay", 0.1}};
  return {step_sample("plain", kMomentumOperands, plain, Apply::kAbsent),
          step_sample("nesterov, decay", kMomentumOperands, nesterov, Apply::kYes),
          step_sample("skipped", kMomentumOperands, nesterov, Apply::kNo)};
}

std::vector<SampleCase> adam_samples() {
  const Attributes plain{{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}};
  Attributes decay = plain;
  decay.set("weight_decay", 0.1);
  Attributes decoupled = decay;
  decoupled.set("decoupled", int64_t{1});
  return {step_sample("plain", kAdamOperands, plain, Apply::kAbsent),
          step_sample("L2", kAdamOperands, decay, Apply::kYes),
          step_sample("decoupled", kAdamOperands, decoupled, Apply::kAbsent),
          step_sample("skipped", kAdamOperands, decoupled, Apply::kNo)};
}

}  // namespace

void register_optimizers(Registry& registry) {
  OpDef sgd = step_def<kSgdOperands, 2>(kSgdStep, "stochastic gradient descent");
  sgd.samples = sgd_samples;
  registry.add(std::move(sgd));
  OpDef momentum = step_def<kMomentumOperands, 4>(kMomentumStep, "gradient descent with momentum, Nesterov's if asked");
  momentum.samples = momentum_samples;
  registry.add(std::move(momentum));
  OpDef adam = step_def<kAdamOperands, 12>(kAdamStep, "Adam, and AdamW with `decoupled`");
  adam.samples = adam_samples;
  registry.add(std::move(adam));
}

}  // namespace onward
