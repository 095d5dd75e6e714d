#include "runtime/executor.h"

#include <chrono>

#include "graph/error.h"
#include "graph/scalars.h"
#include "ops/core/layout.h"
#include "runtime/local_communicator.h"
#include "tests/support/runtime_ops.h"

namespace onward::test {
namespace {

// An executor of one replica with its communicator.
struct Single {
  std::vector<std::unique_ptr<Communicator>> members = make_local_communicators(1);
  Executor executor;

  explicit Single(const ExecutorOptions& options = {}) : executor(members[0].get(), runtime_registry(), options) {}

  void prepare(const ProgramKey& key, const Graph& graph) {
    executor.begin_prepare(key, graph);
    executor.finish();
  }
  StepOutputs run(const ProgramKey& key, const StepFeeds& feeds) {
    executor.begin_run(key, feeds);
    return executor.finish();
  }
};

constexpr ProgramKey kKey{ProgramMode::kTrain, 2};

TEST(Executor, RunsAProgramAgainAndAgain) {
  Single single;
  const Graph graph = training_graph(2, 3, 2, 1);
  single.prepare(kKey, graph);
  for (int i = 0; i < 3; ++i) {
    const StepOutputs outputs = single.run(kKey, {.tensors = {{"x", {counting({2, 3}, 1)}}}});
    EXPECT_THAT(outputs.at("x1").values<float>(), testing::ElementsAre(4, 8, 12, 16, 20, 24));
  }
  // x0 = 2x, x1 = 4x; g1 = sum(x1 + x1), g0 = sum(x1 + x1 + x0) with sums of x: 5, 7, 9. Three steps of w - 0.5 g.
  EXPECT_THAT(single.executor.store().read("w1").values<float>(), testing::ElementsAre(1 - 60, 2 - 84, 3 - 108));
  EXPECT_THAT(single.executor.store().read("w0").values<float>(), testing::ElementsAre(0 - 75, 1 - 105, 2 - 135));
}

TEST(Executor, TakesInputsInEitherLayoutAndGivesRowMajor) {
  Single single;
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2, 3, 2, 2}});
  graph.add_output(add(graph, "AddOne", {&x}, "y"));
  single.prepare(kKey, graph);
  const HostTensor rows = counting({2, 3, 2, 2});
  HostTensor last(DType::kFloat32, rows.shape());
  convert_layout(rows.data(), Layout::kRowMajor, last.edit(), Layout::kChannelsLast, rows.shape(), 4);
  for (int i = 0; i < 3; ++i) {
    for (const Feed& feed : {Feed{rows, Layout::kRowMajor}, Feed{last, Layout::kChannelsLast}}) {
      const StepOutputs outputs = single.run(kKey, {.tensors = {{"x", feed}}});
      EXPECT_THAT(outputs.at("y").values<float>(),
                  testing::ElementsAreArray(counting({2, 3, 2, 2}, 1).values<float>()));
    }
  }
  EXPECT_EQ(rows.values<float>()[0], 0);
}

TEST(Executor, ConvertsScalarsAndTypesOfInputs) {
  Single single;
  Graph graph;
  Value& rate = graph.add_input(kLearningRate, {DType::kFloat32, {}}, Role::kScalar);
  Value& x = graph.add_input("x", {DType::kFloat32, {2}});
  graph.add_output(add(graph, "Twice", {&rate}, "a"));
  graph.add_output(add(graph, "Twice", {&x}, "b"));
  graph.add_output(rate);
  single.prepare(kKey, graph);
  const StepOutputs outputs = single.run(kKey, {.tensors = {{"x", {HostTensor::from<double>({2}, {1, 2})}}},
                                                .scalars = {{kLearningRate, 0.25}, {"unused", 1}}});
  EXPECT_EQ(outputs.at("a").values<float>()[0], 0.5f);
  EXPECT_EQ(outputs.at("b").values<float>()[1], 4.0f);
  EXPECT_EQ(outputs.at(kLearningRate).values<float>()[0], 0.25f);
}

TEST(Executor, RefusesMissingAndWrongInputs) {
  Single single;
  single.prepare(kKey, training_graph(2, 3, 1, 1));
  const auto message = [&](const ProgramKey& key, const StepFeeds& feeds) {
    try {
      single.run(key, feeds);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message(kKey, {}), testing::HasSubstr("expected a value for the input 'x' (float32[2,3]), found none"));
  EXPECT_THAT(message(kKey, {.tensors = {{"x", {counting({2, 4})}}}}), testing::HasSubstr("found float32[2,4]"));
  EXPECT_THAT(message(kKey, {.tensors = {{"x", {HostTensor(DType::kInt64, {2, 3})}}}}),
              testing::HasSubstr("found int64"));
  EXPECT_THAT(message({ProgramMode::kEvaluate, 5}, {}), testing::HasSubstr("evaluate with 5 rows was not prepared"));
  EXPECT_EQ(message(kKey, {.tensors = {{"x", {counting({2, 3})}}}}), "");
}

TEST(Executor, ProgramsShareStoreAndArena) {
  Single single;
  single.prepare({ProgramMode::kTrain, 2}, training_graph(2, 3, 2, 1));
  single.prepare({ProgramMode::kTrain, 500}, training_graph(500, 3, 2, 1));  // moves the arena
  single.prepare({ProgramMode::kTrain, 0}, training_graph(0, 3, 2, 1));
  single.run({ProgramMode::kTrain, 2}, {.tensors = {{"x", {counting({2, 3}, 1)}}}});
  single.run({ProgramMode::kTrain, 0}, {.tensors = {{"x", {counting({0, 3})}}}});
  single.run({ProgramMode::kTrain, 500}, {.tensors = {{"x", {HostTensor(DType::kFloat32, {500, 3})}}}});
  EXPECT_THAT(single.executor.store().read("w1").values<float>(), testing::ElementsAre(1 - 20, 2 - 28, 3 - 36));
}

TEST(Executor, StatesSwapTheirValues) {
  Single single;
  Graph graph;
  Value& a = graph.add_data("a", counting({4}), Role::kState);
  Value& b = graph.add_data("b", counting({4}, 10), Role::kState);
  graph.add_update(a, b);
  graph.add_update(b, a);
  graph.add_output(a);
  single.prepare(kKey, graph);
  EXPECT_EQ(single.run(kKey, {}).at("a").values<float>()[0], 0);
  EXPECT_EQ(single.run(kKey, {}).at("a").values<float>()[0], 10);
  EXPECT_EQ(single.executor.store().read("b").values<float>()[0], 10);
}

TEST(Executor, ErrorsNameNodeAndReplicaAndTheNextProgramRuns) {
  Single single;
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {2}});
  Value& y = add(graph, "Fail", {&x}, "y", {{"rank", int64_t{0}}});
  graph.add_output(add(graph, "Twice", {&y}, "z"));
  single.prepare(kKey, graph);
  try {
    single.run(kKey, {.tensors = {{"x", {counting({2})}}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the value is not what it should be"));
    EXPECT_THAT(error.what(), testing::HasSubstr("while running test::Fail -> y on replica 0"));
  }
  Graph missing;
  Value& m = missing.add_input("x", {DType::kFloat32, {2}});
  missing.add_output(add(missing, "NoKernel", {&m}, "y"));
  EXPECT_THROW(single.prepare({ProgramMode::kEvaluate, 2}, missing), Error);
  EXPECT_FALSE(single.executor.has({ProgramMode::kEvaluate, 2}));
}

TEST(Executor, TracesEveryStep) {
  Single single;
  single.prepare(kKey, training_graph(2, 3, 2, 1));
  single.executor.start_trace(std::chrono::steady_clock::now());
  single.run(kKey, {.tensors = {{"x", {counting({2, 3})}}}});
  const Trace trace = single.executor.stop_trace();
  ASSERT_EQ(trace.entries.size(), single.executor.plan(kKey).steps.size());
  for (const TraceEntry& entry : trace.entries) {
    EXPECT_GE(entry.begin_us, 0);
    EXPECT_GE(entry.end_us, entry.begin_us);
  }
  const std::string json = to_chrome_json(trace);
  EXPECT_THAT(json, testing::HasSubstr("\"traceEvents\""));
  EXPECT_THAT(json, testing::HasSubstr("onward::AllReduce -> g1.sum"));
  single.run(kKey, {.tensors = {{"x", {counting({2, 3})}}}});
  EXPECT_TRUE(single.executor.stop_trace().entries.empty());
}

TEST(Trace, MeasuresOverlap) {
  const auto entry = [](int replica, int stream, double begin, double end) {
    TraceEntry e;
    e.replica = replica;
    e.stream = stream;
    e.begin_us = begin;
    e.end_us = end;
    return e;
  };
  const Trace trace{{entry(0, kComputeStream, 0, 10), entry(0, kComputeStream, 12, 20),
                     entry(0, kCommunicationStream, 5, 15), entry(1, kComputeStream, 100, 110),
                     entry(1, kCommunicationStream, 5, 15)}};
  const Overlap overlap = measure_overlap(trace);
  EXPECT_DOUBLE_EQ(overlap.communication_us, 20);
  EXPECT_DOUBLE_EQ(overlap.compute_us, 28);
  EXPECT_DOUBLE_EQ(overlap.overlapped_us, 8);
}

TEST(ParameterStore, KeepsValuesAndHashes) {
  ParameterStore store, other;
  const Graph graph = training_graph(2, 3, 2, 1);
  store.add(graph);
  other.add(graph);
  EXPECT_EQ(store.hash(Role::kParameter), other.hash(Role::kParameter));
  const auto* before = store.entry("w0").data;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(before) % 64, 0u);
  store.write("w0", counting({3}, 7));
  EXPECT_NE(store.hash(Role::kParameter), other.hash(Role::kParameter));
  EXPECT_EQ(store.signature(), other.signature());
  store.add(training_graph(2, 3, 4, 1));
  EXPECT_EQ(store.entry("w0").data, before);
  EXPECT_EQ(store.read("w0").values<float>()[0], 7);
  EXPECT_NE(store.signature(), other.signature());
  EXPECT_THROW(store.write("w0", counting({4})), Error);
  EXPECT_THROW(store.read("w9"), Error);
  EXPECT_THROW(store.add(training_graph(2, 5, 2, 1)), Error);
}

}  // namespace
}  // namespace onward::test
