#include "passes/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/scalars.h"
#include "passes/buckets.h"
#include "passes/check_reductions.h"
#include "passes/distributions.h"
#include "passes/emit.h"
#include "passes/finite_guard.h"

namespace onward {
namespace {

using Members = std::vector<std::size_t>;  // positions in graph.gradients()

// Scale and bias of a normalization: its inputs 1 and 2, or 3 and 4 once it is lowered.
bool is_norm_use(const Use& use) {
  const std::string& op = use.node->op().name;
  if (op == "BatchNormApply") return use.index == 3 || use.index == 4;
  const bool norm = op == "BatchNormalization" || op == "LayerNormalization" || op == "InstanceNormalization" ||
                    op == "GroupNormalization";
  return norm && (use.index == 1 || use.index == 2);
}

bool is_norm_parameter(const Value& value) {
  return std::any_of(value.uses().begin(), value.uses().end(), [](const Use& use) {
    return is_norm_use(use) || (use.node->is("Identity") && is_norm_parameter(*use.node->output(0)));
  });
}

class OptimizerPass {
 public:
  OptimizerPass(Graph& graph, PassContext& context)
      : graph_(graph), options_(context.options), registry_(context.registry) {}

  void run() {
    if (options_.optimizer == OptimizerKind::kNone || graph_.gradients().empty()) return;
    if (options_.non_finite == NonFinite::kSkip) flag_ = finite_flag(graph_);
    rate_ = scalar(kLearningRate, DType::kFloat64);
    if (is_adam()) step_ = scalar(kOptimizerStep, DType::kInt64);
    for (const Members& bucket : buckets()) {
      for (bool decays : {true, false}) add_step(bucket, decays);
    }
    graph_.clear_gradients();
    infer_distributions(graph_, options_.replicas, registry_);
    check_reductions(graph_, options_.replicas, registry_, false);
  }

 private:
  bool is_adam() const {
    return options_.optimizer == OptimizerKind::kAdam || options_.optimizer == OptimizerKind::kAdamW;
  }

  Value* scalar(const char* name, DType dtype) {
    Value* present = graph_.find_value(name);
    return present ? present : &graph_.add_input(name, {dtype, {}}, Role::kScalar);
  }

  // When nothing can be stepped before all gradients are there, fewer nodes do it.
  std::vector<Members> buckets() const {
    ProgramOptions cut = options_;
    if (options_.clip_norm > 0 || options_.non_finite == NonFinite::kSkip) {
      cut.first_bucket_mib = cut.bucket_mib = std::numeric_limits<double>::infinity();
    }
    return gradient_buckets(graph_, cut);
  }

  bool decays(const Value& parameter) const {
    if (options_.weight_decay == 0) return false;
    if (is_norm_parameter(parameter)) return !options_.no_decay_norm;
    return !(options_.no_decay_bias && parameter.type.shape().size() <= 1);
  }

  void add_step(const Members& bucket, bool decays_wanted) {
    std::vector<Value*> parameters, gradients;
    for (std::size_t i : bucket) {
      const auto& [parameter, gradient] = graph_.gradients()[i];
      if (decays(*parameter) != decays_wanted) continue;
      parameters.push_back(parameter);
      gradients.push_back(gradient);
    }
    if (parameters.empty()) return;
    std::vector<std::vector<Value*>> operands{parameters};
    for (const char* moment : moments()) operands.push_back(add_states(parameters, moment));

    std::vector<Value*> inputs{rate_};
    if (step_) inputs.push_back(step_);
    inputs.push_back(flag_);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      inputs.insert(inputs.end(), operands[k].begin(), operands[k].end());
      if (k == 0) inputs.insert(inputs.end(), gradients.begin(), gradients.end());
    }
    emit_step(inputs, operands, decays_wanted);
  }

  void emit_step(const std::vector<Value*>& inputs, const std::vector<std::vector<Value*>>& operands, bool decays) {
    std::vector<Value*> states;
    std::vector<std::string> names;
    for (const std::vector<Value*>& list : operands) {
      for (Value* value : list) {
        states.push_back(value);
        names.push_back(value->name() + ".next");
      }
    }
    Attributes attributes = step_attributes();
    attributes.set("count", static_cast<int64_t>(operands.front().size()));
    attributes.set("weight_decay", decays ? options_.weight_decay : 0.0);
    Node& node = emit_node(graph_, registry_, {{kOnwardDomain, step_op()}, inputs, names, attributes, "optimizer"});
    for (std::size_t i = 0; i < states.size(); ++i) graph_.add_update(*states[i], *node.output(i));
  }

  const char* step_op() const {
    if (is_adam()) return "AdamStep";
    return options_.optimizer == OptimizerKind::kSgd ? "SgdStep" : "MomentumStep";
  }

  std::vector<const char*> moments() const {
    if (is_adam()) return {"adam_m", "adam_v"};
    return options_.optimizer == OptimizerKind::kSgd ? std::vector<const char*>{}
                                                     : std::vector<const char*>{"momentum"};
  }

  Attributes step_attributes() const {
    switch (options_.optimizer) {
      case OptimizerKind::kAdam:
      case OptimizerKind::kAdamW:
        return {{"beta1", options_.beta1},
                {"beta2", options_.beta2},
                {"epsilon", options_.epsilon},
                {"decoupled", int64_t{options_.optimizer == OptimizerKind::kAdamW}}};
      case OptimizerKind::kMomentum:
      case OptimizerKind::kNesterov:
        return {{"momentum", options_.momentum}, {"nesterov", int64_t{options_.optimizer == OptimizerKind::kNesterov}}};
      case OptimizerKind::kSgd:
      case OptimizerKind::kNone: break;
    }
    return {};
  }

  std::vector<Value*> add_states(const std::vector<Value*>& parameters, const char* moment) {
    std::vector<Value*> states;
    for (const Value* parameter : parameters) {
      const HostTensor zeros(parameter->type.dtype, parameter->type.shape());
      states.push_back(&graph_.add_data(fmt::format("{}.{}", parameter->name(), moment), zeros, Role::kState));
    }
    return states;
  }

  Graph& graph_;
  const ProgramOptions& options_;
  const Registry& registry_;
  Value* rate_ = nullptr;
  Value* step_ = nullptr;  // only where the op reads it
  Value* flag_ = nullptr;  // only where it decides whether the step is made
};

}  // namespace

Pass optimizer_pass() {
  return {.name = "optimizer",
          .run = [](Graph& graph, PassContext& context) { OptimizerPass(graph, context).run(); },
          .requires_ = {"distributed"},
          .ensures = {"optimizer"}};
}

}  // namespace onward
