#include "runtime/plan.h"

#include <chrono>

#include "graph/error.h"
#include "runtime/plan_verifier.h"
#include "runtime/planner.h"
#include "tests/support/runtime_ops.h"

namespace onward::test {
namespace {

Plan plan_of(const Graph& graph) { return make_plan(graph, runtime_registry()).plan; }

const PlanStep& step_of(const Plan& plan, const std::string& op) {
  for (const PlanStep& step : plan.steps) {
    if (step.op.name == op) return step;
  }
  throw Error(ErrorKind::kModel, "no step of " + op);
}

const PlanBuffer& buffer(const Plan& plan, int index) { return plan.buffers[static_cast<std::size_t>(index)]; }

// ---- layouts

TEST(PlanLayouts, AKernelBetweenChannelsLastOnesTakesThatLayout) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2, 3, 4, 4}});
  Value& a = add(graph, "AddOne", {&x}, "a");
  Value& b = add(graph, "Twice", {&a}, "b");
  Value& c = add(graph, "Plus", {&b, &a}, "c");
  Value& d = add(graph, "AddOne", {&c}, "d");
  graph.add_output(d);
  const Plan plan = plan_of(graph);
  EXPECT_EQ(plan.conversions(), 0);  // the output is converted when it is handed out
  EXPECT_EQ(buffer(plan, plan.inputs[0].buffer).layout, Layout::kChannelsLast);
  EXPECT_EQ(buffer(plan, step_of(plan, "Plus").outputs[0]).layout, Layout::kChannelsLast);
}

TEST(PlanLayouts, OneConversionServesAllConsumersAndLiesAtTheSmallestTensor) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2, 3, 4, 4}});
  Value& a = add(graph, "AddOne", {&x}, "a");
  Value& b = add(graph, "Rows", {&a}, "b");
  Value& c = add(graph, "Rows", {&a}, "c");
  Value& d = add(graph, "Twice", {&a}, "d");
  for (Value* value : {&b, &c, &d}) graph.add_output(*value);
  const Plan plan = plan_of(graph);
  EXPECT_EQ(plan.conversions(), 1);
}

TEST(PlanLayouts, NothingMovesWhereBothLayoutsAreTheSameBytes) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2, 3, 1, 1}});
  Value& a = add(graph, "AddOne", {&x}, "a");
  Value& b = add(graph, "View", {&a}, "b", {{"shape", std::vector<int64_t>{2, 3}}});
  Value& c = add(graph, "Rows", {&b}, "c");
  graph.add_output(c);
  const Plan plan = plan_of(graph);
  EXPECT_EQ(plan.conversions(), 0);
  EXPECT_EQ(plan.steps.size(), 2u);
}

TEST(PlanLayouts, AViewUnderAnotherShapeIsTakenOfTheRowMajorForm) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2, 3, 2, 2}});
  Value& a = add(graph, "AddOne", {&x}, "a");
  Value& b = add(graph, "View", {&a}, "b", {{"shape", std::vector<int64_t>{2, 12}}});
  graph.add_output(b);
  const Plan plan = plan_of(graph);
  EXPECT_EQ(plan.conversions(), 1);
  EXPECT_EQ(buffer(plan, plan.outputs[0].buffer).content, buffer(plan, plan.steps[1].outputs[0]).content);
}

TEST(PlanLayouts, ConstantsAreConvertedWithThePlan) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2, 3, 2, 2}});
  Value& k = graph.add_data("k", counting({2, 3, 2, 2}));
  Value& a = add(graph, "AddOne", {&x}, "a");
  Value& b = add(graph, "Plus", {&a, &k}, "b");
  Value& c = add(graph, "AddOne", {&b}, "c");
  graph.add_output(c);
  const PreparedPlan prepared = make_plan(graph, runtime_registry());
  EXPECT_EQ(prepared.plan.conversions(), 0);
  EXPECT_EQ(prepared.constants[0].values<float>()[1], 4);  // the second channel comes next
}

// ---- kernels

TEST(Planner, ListsEveryNodeWithoutAKernel) {
  Graph graph;
  graph.opsets = {{"test", 3}};
  Value& x = graph.add_input("x", {DType::kFloat32, {2}});
  Value& y = add(graph, "NoKernel", {&x}, "y");
  Value& z = add(graph, "NoKernel", {&y}, "z");
  graph.add_output(z);
  try {
    plan_of(graph);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kModel);
    for (const char* part : {"-> y", "-> z", "op NoKernel, domain test, opset 3, float32 on cpu"}) {
      EXPECT_THAT(error.message(), testing::HasSubstr(part));
    }
  }
}

TEST(Planner, RefusesShapesThatAreNotStatic) {
  Graph graph;
  TensorType type(DType::kFloat32, {2});
  type.dims->at(0) = Dim(std::string("N"));
  Value& x = graph.add_input("x", type);
  graph.add_node(runtime_op("Twice"), {&x}, {"y"});
  EXPECT_THROW(plan_of(graph), Error);
}

// ---- memory

TEST(PlanMemory, AChainNeedsTwoBuffers) {
  Graph graph;
  Value* x = &graph.add_input("x", {DType::kFloat32, {16}});
  for (int i = 0; i < 10; ++i) x = &add(graph, "Twice", {x}, "y" + std::to_string(i));
  graph.add_output(*x);
  const Plan plan = plan_of(graph);
  EXPECT_EQ(plan.arena_bytes, 128u);
  EXPECT_EQ(plan.live_bytes, 128u);
}

TEST(PlanMemory, InPlaceWhereNobodyReadsTheInputLater) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {16}});
  Value& a = add(graph, "Twice", {&x}, "a");
  Value& b = add(graph, "Plus", {&a, &x}, "b");  // reads a for the last but one time
  Value& c = add(graph, "Plus", {&b, &a}, "c");  // b is free, a is not the first operand
  Value& d = add(graph, "Plus", {&c, &c}, "d");  // both operands are one buffer
  graph.add_output(d);
  const Plan plan = plan_of(graph);
  const auto in_place = [&](std::size_t i) {
    return buffer(plan, plan.steps[i].inputs[0]).memory == Memory::kArena &&
           buffer(plan, plan.steps[i].inputs[0]).storage == buffer(plan, plan.steps[i].outputs[0]).storage;
  };
  EXPECT_FALSE(in_place(1));
  EXPECT_TRUE(in_place(2));
  EXPECT_FALSE(in_place(3));
}

TEST(PlanMemory, OutputsAreNeitherOverwrittenNorReused) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {16}});
  Value& a = add(graph, "Twice", {&x}, "a");
  Value& b = add(graph, "Plus", {&a, &x}, "b");
  Value& c = add(graph, "Twice", {&b}, "c");
  graph.add_output(a);
  graph.add_output(c);
  const Plan plan = plan_of(graph);
  EXPECT_NE(buffer(plan, plan.outputs[0].buffer).offset, buffer(plan, plan.steps[1].outputs[0]).offset);
  EXPECT_EQ(plan.arena_bytes, 192u);
}

TEST(PlanMemory, OperandsOfACollectiveLieOneBehindAnother) {
  const Plan plan = plan_of(training_graph(4, 20, 5, 2));
  int collectives = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.collective < 0) continue;
    ++collectives;
    EXPECT_EQ(step.stream, kCommunicationStream);
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      EXPECT_EQ(buffer(plan, step.inputs[i]).offset, buffer(plan, step.inputs[0]).offset + i * 128);
      EXPECT_EQ(buffer(plan, step.inputs[i]).offset, buffer(plan, step.outputs[i]).offset);
    }
  }
  EXPECT_EQ(collectives, 3);
}

TEST(PlanUpdates, AreWrittenInPlaceWhereTheOldValueHasBeenRead) {
  const Plan plan = plan_of(training_graph(4, 20, 5, 2));
  ASSERT_EQ(plan.updates.size(), 5u);
  for (const PlanUpdate& update : plan.updates) EXPECT_TRUE(update.in_place);
  EXPECT_EQ(buffer(plan, step_of(plan, "Descend").outputs[0]).memory, Memory::kStore);
}

TEST(PlanUpdates, AreCopiedWhereTheOldValueIsStillRead) {
  Graph graph;
  Value& g = graph.add_input("g", {DType::kFloat32, {4}});
  Value& p = graph.add_data("p", counting({4}), Role::kParameter);
  Value& next = add(graph, "Descend", {&p, &g}, "next");
  Value& late = add(graph, "Twice", {&p}, "late");
  graph.add_update(p, next);
  graph.add_output(late);
  const Plan plan = plan_of(graph);
  EXPECT_FALSE(plan.updates[0].in_place);
  EXPECT_EQ(plan.steps.back().kind, StepKind::kCopy);
}

TEST(PlanUpdates, StatesMaySwapTheirValuesAndOutputsKeepTheOldOnes) {
  Graph graph;
  Value& a = graph.add_data("a", counting({4}), Role::kState);
  Value& b = graph.add_data("b", counting({4}), Role::kState);
  graph.add_update(a, b);
  graph.add_update(b, a);
  graph.add_output(a);
  const Plan plan = plan_of(graph);  // verified inside
  EXPECT_EQ(plan.steps.size(), 5u);
}

// ---- order and events

TEST(PlanSchedule, WaitsOnlyWhereADependencyCrossesStreamsAndIsNotImplied) {
  const Plan plan = plan_of(training_graph(4, 20, 6, 2));
  int waits = 0;
  for (const PlanStep& step : plan.steps) waits += static_cast<int>(step.waits.size());
  EXPECT_EQ(waits, 6);  // each of three collectives waits once and is waited for once
  EXPECT_EQ(plan.events, 6);
}

TEST(PlanSchedule, CollectivesRunInAscendingOrderOfIds) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {4}});
  Value& a = add(graph, "Twice", {&x}, "a");
  Value& b = add(graph, "Twice", {&a}, "b");
  Value& late = *all_reduce(graph, {&a}, {"late"}, 7)[0];
  Value& early = *all_reduce(graph, {&b}, {"early"}, 3)[0];
  graph.add_output(late);
  graph.add_output(early);
  const Plan plan = plan_of(graph);
  EXPECT_EQ(step_of(plan, "AllReduce").collective, 3);
}

TEST(PlanSchedule, WorkIsDoneWhileACollectiveIsOnItsWay) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {4}});
  Value& a = add(graph, "Twice", {&x}, "a");
  Value& weight_gradient = add(graph, "Twice", {&x}, "weight_gradient");  // needed by the second collective only
  Value& b = add(graph, "Twice", {&a}, "b");
  Value& statistics = *all_reduce(graph, {&b}, {"statistics"}, 0)[0];
  Value& c = add(graph, "Twice", {&statistics}, "c");
  Value& bucket = *all_reduce(graph, {&weight_gradient}, {"bucket"}, 1)[0];
  graph.add_output(c);
  graph.add_output(bucket);
  std::vector<std::string> order;
  const Plan plan = plan_of(graph);
  for (const PlanStep& step : plan.steps) order.push_back(buffer(plan, step.outputs[0]).value);
  EXPECT_THAT(order, testing::ElementsAre("a", "b", "statistics", "weight_gradient", "bucket", "c"));
}

TEST(PlanSchedule, IdsThatContradictTheDataFlowAreAnError) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {4}});
  Value& a = *all_reduce(graph, {&x}, {"a"}, 2)[0];
  Value& b = *all_reduce(graph, {&a}, {"b"}, 1)[0];
  graph.add_output(b);
  EXPECT_THROW(plan_of(graph), Error);
}

// ---- the verifier

TEST(PlanVerifier, FlagsEverySingleRemovedWait) {
  const Plan plan = plan_of(training_graph(4, 20, 12, 3));
  ASSERT_TRUE(find_plan_violations(plan).empty());
  int removed = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    for (std::size_t w = 0; w < plan.steps[i].waits.size(); ++w) {
      Plan broken = plan;
      auto& waits = broken.steps[i].waits;
      waits.erase(waits.begin() + static_cast<long>(w));
      EXPECT_FALSE(find_plan_violations(broken).empty()) << "step " << i << " " << plan.steps[i].node;
      ++removed;
    }
  }
  EXPECT_EQ(removed, 8);
}

TEST(PlanVerifier, FlagsReuseOnOneStreamWhileTheValueIsNeeded) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {16}});
  Value& a = add(graph, "Twice", {&x}, "a");
  Value& b = add(graph, "Twice", {&a}, "b");
  Value& c = add(graph, "Plus", {&b, &a}, "c");
  graph.add_output(c);
  Plan plan = plan_of(graph);
  for (PlanBuffer& buffer : plan.buffers) buffer.offset = 0;
  const auto violations = find_plan_violations(plan);
  ASSERT_FALSE(violations.empty());
  EXPECT_THAT(violations[0], testing::HasSubstr("its memory holds what"));
}

TEST(PlanVerifier, FlagsPartialOverlap) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {64}});
  Value& a = add(graph, "Twice", {&x}, "a");
  Value& b = add(graph, "Twice", {&x}, "b");
  Value& c = add(graph, "Rows", {&a}, "c");
  graph.add_output(b);
  graph.add_output(c);
  Plan plan = plan_of(graph);
  ASSERT_TRUE(find_plan_violations(plan).empty());
  plan.buffers[static_cast<std::size_t>(plan.steps[1].outputs[0])].offset =
      plan.buffers[static_cast<std::size_t>(plan.steps[0].outputs[0])].offset + 192;
  plan.arena_bytes += 1024;
  EXPECT_FALSE(find_plan_violations(plan).empty());
}

TEST(PlanVerifier, FlagsWrongEndsWritesToInputsAndCollectivesOutOfOrder) {
  const Plan plan = plan_of(training_graph(4, 20, 4, 1));
  Plan broken = plan;
  broken.updates[1].content = 0;
  EXPECT_FALSE(find_plan_violations(broken).empty());
  broken = plan;
  broken.steps[0].outputs[0] = broken.inputs[0].buffer;
  EXPECT_FALSE(find_plan_violations(broken).empty());
  broken = plan;
  for (PlanStep& step : broken.steps) {
    if (step.collective >= 0) step.collective = 10 - step.collective;
  }
  EXPECT_FALSE(find_plan_violations(broken).empty());
  broken = plan;
  broken.arena_bytes -= 64;
  EXPECT_FALSE(find_plan_violations(broken).empty());
}

TEST(PlanVerifier, FlagsReplicasThatDisagreeAboutCollectives) {
  const Plan four = plan_of(training_graph(4, 20, 4, 1));
  const Plan none = plan_of(training_graph(0, 20, 4, 1));
  EXPECT_NO_THROW(verify_collectives_agree({&four, &none}));
  const Plan wider = plan_of(training_graph(4, 21, 4, 1));
  EXPECT_THROW(verify_collectives_agree({&four, &wider}), Error);
  const Plan fewer = plan_of(training_graph(4, 20, 4, 2));
  EXPECT_THROW(verify_collectives_agree({&four, &fewer}), Error);
}

TEST(PlanVerifier, TakesMilliseconds) {
  const Graph graph = training_graph(4, 20, 600, 6);
  const Plan plan = plan_of(graph);
  EXPECT_GT(plan.steps.size(), 1800u);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(find_plan_violations(plan).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Plan, PrintsAsTextAndJson) {
  const Plan plan = plan_of(training_graph(4, 20, 2, 1));
  const std::string text = print(plan);
  for (const char* part : {"2 collectives", "0 layout conversions", "input %x: input float32[4,20] row-major",
                           "collective=1", "update w0 in place", "output %x1"}) {
    EXPECT_THAT(text, testing::HasSubstr(part));
  }
  EXPECT_EQ(text, print(plan_of(training_graph(4, 20, 2, 1))));
  EXPECT_THAT(to_json(plan), testing::HasSubstr("\"collectives\": 2"));
}

}  // namespace
}  // namespace onward::test
