#include "runtime/replicas.h"

#include <algorithm>
#include <chrono>

#include "graph/error.h"
#include "tests/support/runtime_ops.h"

namespace onward::test {
namespace {

constexpr int64_t kWidth = 37;
constexpr int kLayers = 9;

FunctionSource training_source() {
  return FunctionSource([](const ProgramKey& key) { return training_graph(key.local_batch, kWidth, kLayers, 3); });
}

// Rows [begin, begin + rows) of an endless data set with fractions in it, so that rounding shows the order of sums.
HostTensor rows(int64_t begin, int64_t count) {
  HostTensor tensor(DType::kFloat32, {count, kWidth});
  float* values = tensor.edit_values<float>().data();
  for (int64_t i = 0; i < count * kWidth; ++i) values[i] = 1.0f / static_cast<float>((begin * kWidth + i) % 1013 + 1);
  return tensor;
}

std::vector<StepFeeds> feeds_of(const std::vector<int64_t>& shares, int64_t begin) {
  std::vector<StepFeeds> feeds;
  for (int64_t share : shares) {
    feeds.push_back({.local_batch = share, .tensors = {{"x", {rows(begin, share)}}}});
    begin += share;
  }
  return feeds;
}

// Parameters after three steps of the given shares.
std::vector<float> train(const std::vector<int64_t>& shares, const ReplicaOptions& options = {}) {
  FunctionSource source = training_source();
  ReplicaGroup group(source, parse_devices("cpu:" + std::to_string(shares.size()), 2), runtime_registry(), options);
  int64_t total = 0;
  for (int64_t share : shares) total += share;
  for (int step = 0; step < 3; ++step) group.run(ProgramMode::kTrain, feeds_of(shares, step * total));
  group.check_parameters_equal();
  std::vector<float> parameters;
  for (int i = 0; i < kLayers; ++i) {
    const HostTensor weight = group.store(0).read("w" + std::to_string(i));
    parameters.insert(parameters.end(), weight.values<float>().begin(), weight.values<float>().end());
  }
  return parameters;
}

TEST(Replicas, OneToFourReduceToTheSameSums) {
  const std::vector<float> one = train({12});
  for (const std::vector<int64_t>& shares :
       {std::vector<int64_t>{6, 6}, {4, 4, 4}, {3, 3, 3, 3}, {7, 5}, {12, 0}, {0, 11, 1}}) {
    const std::vector<float> several = train(shares);
    ASSERT_EQ(several.size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(several[i], one[i], 1e-4 * (1 + std::abs(one[i])));
  }
}

TEST(Replicas, A19_RandomDelaysChangeNoBit) {
  const std::vector<float> straight = train({3, 2, 2});
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(train({3, 2, 2}, {.delays = {.seed = seed, .max_microseconds = 200}}), straight);
  }
}

TEST(Replicas, AnErrorOnOneWakesTheOthersAndNamesNodeAndReplica) {
  FunctionSource source([](const ProgramKey&) {
    Graph graph;
    Value& x = graph.add_input("x", {DType::kFloat32, {4}});
    Value& y = add(graph, "Fail", {&x}, "y", {{"rank", int64_t{1}}});
    graph.add_output(*all_reduce(graph, {&y}, {"z"}, 0)[0]);
    return graph;
  });
  ReplicaGroup group(source, parse_devices("cpu:3", 2), runtime_registry());
  const std::vector<StepFeeds> feeds(3, {.local_batch = 1, .tensors = {{"x", {counting({4})}}}});
  const auto start = std::chrono::steady_clock::now();
  try {
    group.run(ProgramMode::kTrain, feeds);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRun);
    EXPECT_EQ(error.message(), "the value is not what it should be");
    EXPECT_THAT(error.what(), testing::HasSubstr("while running test::Fail -> y on replica 1"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_THROW(group.run(ProgramMode::kTrain, feeds), Error);
}

TEST(Replicas, FeedsAreCheckedBeforeAnythingRuns) {
  FunctionSource source = training_source();
  ReplicaGroup group(source, parse_devices("cpu:2", 2), runtime_registry());
  std::vector<StepFeeds> feeds = feeds_of({2, 3}, 0);
  feeds[1].tensors.clear();
  try {
    group.run(ProgramMode::kTrain, feeds);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("on replica 1"));
  }
  EXPECT_EQ(group.run(ProgramMode::kTrain, feeds_of({2, 3}, 0)).size(), 2u);
  EXPECT_THROW(group.run(ProgramMode::kTrain, feeds_of({2}, 0)), Error);
}

TEST(Replicas, A17_BroadcastMakesThemEqualAndTheHashSeesADifference) {
  FunctionSource source = training_source();
  ReplicaGroup group(source, parse_devices("cpu:3", 2), runtime_registry());
  group.prepare({ProgramMode::kTrain, 1});
  const uint64_t hash = group.check_parameters_equal();
  EXPECT_EQ(hash, group.store(2).hash(Role::kParameter));
  group.store(2).write("w3", counting({kWidth}, 100));
  group.broadcast_state();
  EXPECT_EQ(group.check_parameters_equal(), hash);
  group.store(1).write("w3", counting({kWidth}, 100));
  try {
    group.check_parameters_equal();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("on rank 1"));
  }
}

TEST(Replicas, ABroadcastLeavesAReplicaWhatIsItsOwn) {
  FunctionSource source = training_source();
  ReplicaGroup group(source, parse_devices("cpu:2", 2), runtime_registry());
  group.prepare({ProgramMode::kTrain, 1});
  for (const char* name : {"w2", "w3"}) group.store(1).write(name, counting({kWidth}, 100));
  group.broadcast_state({"w3"});
  EXPECT_NE(group.store(1).read("w2").values<float>()[0], 100);
  EXPECT_EQ(group.store(1).read("w3").values<float>()[0], 100);
}

TEST(Replicas, ADifferentModelIsAnErrorOnAll) {
  FunctionSource source = training_source();
  ReplicaGroup group(source, parse_devices("cpu:2", 2), runtime_registry());
  group.prepare({ProgramMode::kTrain, 1});
  Graph more;
  more.add_data("extra", counting({2}), Role::kParameter);
  group.store(1).add(more);
  EXPECT_THROW(group.broadcast_state(), Error);
}

TEST(Replicas, WriteAllReachesEveryReplica) {
  FunctionSource source = training_source();
  ReplicaGroup group(source, parse_devices("cpu:2", 2), runtime_registry());
  group.prepare({ProgramMode::kTrain, 1});
  group.write_all("w0", counting({kWidth}, 5));
  EXPECT_EQ(group.store(1).read("w0").values<float>()[0], 5);
  group.check_parameters_equal();
}

TEST(Replicas, ProgramsThatDisagreeAboutCollectivesAreRefused) {
  FunctionSource source([](const ProgramKey& key) {
    return training_graph(key.local_batch, kWidth, kLayers, key.local_batch == 3 ? 2 : 3);
  });
  ReplicaGroup group(source, parse_devices("cpu:2", 2), runtime_registry());
  group.prepare({ProgramMode::kTrain, 2});
  EXPECT_THROW(group.prepare({ProgramMode::kTrain, 3}), Error);
  EXPECT_THROW(group.run(ProgramMode::kTrain, feeds_of({2, 3}, 0)), Error);  // still
}

TEST(Replicas, MissingKernelsAreReportedOnceAndTheGroupGoesOn) {
  FunctionSource source([](const ProgramKey& key) {
    if (key.mode == ProgramMode::kTrain) return training_graph(key.local_batch, kWidth, kLayers, 3);
    Graph graph;
    Value& x = graph.add_input("x", {DType::kFloat32, {4}});
    graph.add_output(add(graph, "NoKernel", {&x}, "y"));
    return graph;
  });
  ReplicaGroup group(source, parse_devices("cpu:2", 2), runtime_registry());
  EXPECT_THROW(group.prepare({ProgramMode::kEvaluate, 1}), Error);
  group.run(ProgramMode::kTrain, feeds_of({2, 1}, 0));
}

TEST(Replicas, TracesShowCommunicationBehindComputeWithThreeBuckets) {
  FunctionSource source([](const ProgramKey&) {
    Graph graph;
    Value* x = &graph.add_input("x", {DType::kFloat32, {100000}});
    for (int i = 0; i < 4; ++i) {
      x = &add(graph, "Slow", {x}, "gradient" + std::to_string(i));
      graph.add_output(*all_reduce(graph, {x}, {"sum" + std::to_string(i)}, i)[0]);
    }
    return graph;
  });
  ReplicaGroup group(source, parse_devices("cpu:2", 2), runtime_registry());
  const std::vector<StepFeeds> feeds(2, {.local_batch = 1, .tensors = {{"x", {counting({100000})}}}});
  group.prepare({ProgramMode::kTrain, 1});
  group.start_trace();
  group.run(ProgramMode::kTrain, feeds);
  const Trace trace = group.stop_trace();
  const Overlap overlap = measure_overlap(trace);
  EXPECT_EQ(std::count_if(trace.entries.begin(), trace.entries.end(),
                          [](const TraceEntry& entry) { return entry.stream == kCommunicationStream; }),
            8);
  EXPECT_GT(overlap.overlapped_us, 0);  // how much depends on what else the machine does
  EXPECT_LE(overlap.overlapped_us, overlap.communication_us);
}

}  // namespace
}  // namespace onward::test
