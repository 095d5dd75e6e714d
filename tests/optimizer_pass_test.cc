#include "graph/scalars.h"
#include "ops/core/infer_context.h"
#include "passes/optimizer.h"
#include "tests/support/small_resnet.h"
#include "tests/support/tensors.h"

namespace onward::test {
namespace {

std::vector<const Node*> steps_of(const Graph& graph) {
  std::vector<const Node*> steps;
  for (const auto& node : graph.nodes()) {
    if (node->origin == "optimizer") steps.push_back(node.get());
  }
  return steps;
}

TEST(OptimizerPass, StateHasReadableNames) {
  ProgramOptions options;
  options.optimizer = OptimizerKind::kAdam;
  const Graph adam = make_program(small_resnet(2), options, {.local_batch = 2}).graph;
  EXPECT_NE(adam.find_value("fc.w.adam_m"), nullptr);
  EXPECT_NE(adam.find_value("fc.w.adam_v"), nullptr);
  EXPECT_EQ(adam.find_value(kOptimizerStep)->type, (TensorType{DType::kInt64, {}}));
  options.optimizer = OptimizerKind::kNesterov;
  const Graph nesterov = make_program(small_resnet(2), options, {.local_batch = 2}).graph;
  EXPECT_EQ(nesterov.find_value("fc.w.momentum")->role, Role::kState);
  EXPECT_EQ(nesterov.find_value(kOptimizerStep), nullptr);
  EXPECT_EQ(steps_of(nesterov).at(0)->attributes.get_int("nesterov"), 1);
  EXPECT_EQ(nesterov.find_value(kLearningRate)->type, (TensorType{DType::kFloat64, {}}));
}

TEST(OptimizerPass, StepsTakeTheNumbersOfTheOptions) {
  ProgramOptions options;
  options.momentum = 0.7, options.beta1 = 0.8, options.beta2 = 0.95, options.epsilon = 1e-4;
  const auto attributes = [&](OptimizerKind kind) {
    options.optimizer = kind;
    return steps_of(make_program(small_resnet(2), options, {.local_batch = 2}).graph).at(0)->attributes;
  };
  for (const OptimizerKind kind : {OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    const Attributes adam = attributes(kind);
    EXPECT_EQ(adam.get_double("beta1"), 0.8);
    EXPECT_EQ(adam.get_double("beta2"), 0.95);
    EXPECT_EQ(adam.get_double("epsilon"), 1e-4);
    EXPECT_EQ(adam.get_int("decoupled"), kind == OptimizerKind::kAdamW ? 1 : 0);
  }
  for (const OptimizerKind kind : {OptimizerKind::kMomentum, OptimizerKind::kNesterov}) {
    const Attributes momentum = attributes(kind);
    EXPECT_EQ(momentum.get_double("momentum"), 0.7);
    EXPECT_EQ(momentum.get_int("nesterov"), kind == OptimizerKind::kNesterov ? 1 : 0);
  }
}

TEST(OptimizerPass, UpdatesEveryTrainedParameterOnce) {
  ProgramOptions options;
  options.optimizer = OptimizerKind::kMomentum;
  options.freeze = {"stem.*"};
  const Graph graph = make_program(small_resnet(2), options, {.local_batch = 2}).graph;
  std::map<std::string, int> updates;
  for (const StateUpdate& update : graph.updates()) ++updates[update.state->name()];
  for (const Value* parameter : graph.values_with_role(Role::kParameter)) {
    EXPECT_EQ(updates[parameter->name()], parameter->name().starts_with("stem.") ? 0 : 1) << parameter->name();
  }
  EXPECT_EQ(updates["stem.bn.running_mean"], 1);  // statistics of a frozen layer go on
}

TEST(OptimizerPass, GroupsTakeDecayOrNot) {
  ProgramOptions options;
  options.optimizer = OptimizerKind::kSgd;
  options.weight_decay = 0.1;
  // The scale of one normalization reaches it through an Identity.
  Graph forward = small_resnet(2);
  Value* scale = forward.find_value("a.1.bn.scale");
  Node& norm = *scale->uses().front().node;
  Node& alias = forward.add_node({"", "Identity"}, {scale}, {"alias"}, {}, &norm);
  infer_node(alias, registry());
  forward.set_input(norm, 1, alias.output(0));
  const auto decayed = [&] {
    std::map<std::string, bool> result;
    const auto program = make_program(forward, options, {.local_batch = 2});
    for (const Node* step : steps_of(program.graph)) {
      for (const Value* value : step->inputs()) {
        if (value && value->role == Role::kParameter)
          result[value->name()] = step->attributes.get_double("weight_decay") > 0;
      }
    }
    return result;
  };
  auto all = decayed();
  EXPECT_TRUE(all["fc.w"] && all["fc.b"] && all["stem.bn.scale"] && all["stem.bn.bias"] && all["a.1.bn.scale"]);
  options.no_decay_norm = true;
  auto without_norm = decayed();
  EXPECT_TRUE(without_norm["fc.w"] && without_norm["fc.b"]);
  EXPECT_FALSE(without_norm["stem.bn.scale"] || without_norm["b.shortcut.bn.bias"] || without_norm["a.1.bn.scale"]);
  options.no_decay_norm = false, options.no_decay_bias = true;
  auto without_bias = decayed();
  EXPECT_TRUE(without_bias["fc.w"] && without_bias["stem.bn.scale"]);
  EXPECT_FALSE(without_bias["fc.b"]);
}

TEST(OptimizerPass, AStepThatNeedsAllGradientsIsOneNode) {
  ProgramOptions options;
  options.first_bucket_mib = options.bucket_mib = 1e-4;
  EXPECT_GT(steps_of(make_program(small_resnet(2), options, {.local_batch = 2}).graph).size(), 5u);
  options.clip_norm = 1;
  EXPECT_EQ(steps_of(make_program(small_resnet(2), options, {.local_batch = 2}).graph).size(), 1u);
}

TEST(OptimizerPass, NoneLeavesTheParametersAlone) {
  ProgramOptions options;
  options.optimizer = OptimizerKind::kNone;
  options.keep_gradients = true;
  const Graph graph = make_program(small_resnet(2), options, {.local_batch = 2}).graph;
  EXPECT_TRUE(steps_of(graph).empty());
  EXPECT_NE(graph.find_value(gradient_name("fc.w")), nullptr);
}

}  // namespace
}  // namespace onward::test
