// k replicas with their shares of a batch compute what one replica computes with all of it: five steps of SGD with
// momentum on a ResNet-8, even, uneven and empty shares. Prints the table that docs/results.md shows.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "graph/random.h"
#include "graph/scalars.h"
#include "models/build_model.h"
#include "passes/model_program.h"
#include "runtime/replicas.h"
#include "tools/run_outputs.h"

namespace onward::test {
namespace {

constexpr int64_t kBatch = 12;
constexpr int64_t kClasses = 10;

const Model& model() {
  static const Model built = build_model({.name = "resnet8", .input = {3, 16, 16}});
  return built;
}

struct Data {
  HostTensor images, labels;
};

const Data& data() {
  static const Data made = [] {
    const RandomStream stream(7, RandomPurpose::kSyntheticData);
    std::vector<double> pixels(kBatch * 3 * 16 * 16);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = stream.normal(0, i);
    std::vector<int64_t> labels(kBatch);
    std::iota(labels.begin(), labels.end(), 0);
    for (int64_t& label : labels) label %= kClasses;
    return Data{HostTensor::from<double>({kBatch, 3, 16, 16}, pixels), HostTensor::from<int64_t>({kBatch}, labels)};
  }();
  return made;
}

ProgramOptions options_of(int replicas, DType precision, BatchNormMode mode) {
  ProgramOptions options;
  options.replicas = replicas;
  options.precision = precision;
  options.batch_norm = mode;
  options.optimizer = OptimizerKind::kMomentum;
  options.weight_decay = 1e-4;
  options.bucket_mib = 0.05;  // several buckets even for this small model
  options.first_bucket_mib = 0.01;
  return options;
}

std::vector<StepFeeds> feeds_of(const std::vector<int64_t>& shares, int64_t first, DType precision, int64_t global) {
  std::vector<StepFeeds> feeds;
  for (const int64_t count : shares) {
    StepFeeds feed;
    feed.local_batch = count;
    feed.tensors["input"] = {cli::slice_rows(data().images, first, count).cast(precision), Layout::kRowMajor};
    feed.tensors[kLabelInput] = {cli::slice_rows(data().labels, first, count), Layout::kRowMajor};
    feed.scalars = {{kLearningRate, 0.05},
                    {kLossDenominator, static_cast<double>(global)},
                    {kGlobalBatch, static_cast<double>(global)},
                    {kSampleOffset, static_cast<double>(first)}};
    first += count;
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

using Tensors = std::map<std::string, HostTensor>;

Tensors read_all(const ParameterStore& store) {
  Tensors tensors;
  for (const auto& [name, entry] : store.entries()) tensors.emplace(name, store.read(name));
  return tensors;
}

// Parameters, statistics and moments of every replica after the steps.
std::vector<Tensors> train(const std::vector<int64_t>& shares, DType precision, BatchNormMode mode, int steps) {
  const int replicas = static_cast<int>(shares.size());
  ModelProgram program(model(), options_of(replicas, precision, mode));
  ReplicaGroup group(program, parse_devices("cpu:" + std::to_string(replicas), replicas), registry());
  std::vector<StepFeeds> feeds = feeds_of(shares, 0, precision, kBatch);
  for (int step = 0; step < steps; ++step) {
    for (StepFeeds& feed : feeds) feed.scalars[kOptimizerStep] = step + 1;
    group.run(ProgramMode::kTrain, feeds);
  }
  group.check_parameters_equal();
  std::vector<Tensors> result;
  for (int r = 0; r < replicas; ++r) result.push_back(read_all(group.store(r)));
  return result;
}

double relative_error(const HostTensor& ours, const HostTensor& theirs) {
  const std::vector<double> a = ours.to_double(), b = theirs.to_double();
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference) / (norm > 0 ? std::sqrt(norm) : 1);
}

std::vector<double> errors(const Tensors& ours, const Tensors& theirs) {
  std::vector<double> list;
  for (const auto& [name, tensor] : theirs) list.push_back(relative_error(ours.at(name), tensor));
  std::sort(list.begin(), list.end());
  return list;
}

const std::vector<std::vector<int64_t>> kSplits = {{6, 6},    {7, 5},       {12, 0},      {4, 4, 4},   {9, 2, 1},
                                                   {6, 0, 6}, {3, 3, 3, 3}, {5, 4, 2, 1}, {4, 0, 4, 4}};

TEST(ReplicaEquivalence, Fp64StateAfterFiveStepsEqualsOneReplicas) {
  const Tensors one = train({kBatch}, DType::kFloat64, BatchNormMode::kSync, 5).front();
  for (const auto& shares : kSplits) {
    const std::vector<double> list = errors(train(shares, DType::kFloat64, BatchNormMode::kSync, 5).front(), one);
    std::printf("fp64 %-12s worst %.1e median %.1e\n", to_string(shares).c_str(), list.back(), list[list.size() / 2]);
    EXPECT_LE(list.back(), 1e-10) << to_string(shares);
  }
}

TEST(ReplicaEquivalence, Fp32MedianAfterFiveStepsEqualsOneReplicas) {
  const Tensors one = train({kBatch}, DType::kFloat32, BatchNormMode::kSync, 5).front();
  for (const auto& shares : kSplits) {
    const std::vector<double> list = errors(train(shares, DType::kFloat32, BatchNormMode::kSync, 5).front(), one);
    std::printf("fp32 %-12s worst %.1e median %.1e\n", to_string(shares).c_str(), list.back(), list[list.size() / 2]);
    EXPECT_LE(list[list.size() / 2], 1e-4) << to_string(shares);
  }
}

// One replica on one shard, alone: its gradients (by the global denominator) and its running statistics.
struct Shard {
  Tensors gradients, state;
};

Shard run_shard(int64_t first, int64_t count) {
  ProgramOptions options = options_of(1, DType::kFloat64, BatchNormMode::kLocal);
  options.optimizer = OptimizerKind::kNone;
  options.keep_gradients = true;
  ModelProgram program(model(), options);
  ReplicaGroup group(program, parse_devices("cpu:1", 1), registry());
  Shard shard;
  const std::vector<StepOutputs> outputs =
      group.run(ProgramMode::kTrain, feeds_of({count}, first, DType::kFloat64, kBatch));
  for (const auto& [name, tensor] : outputs.front()) {
    if (name.starts_with(kGradientPrefix)) shard.gradients.emplace(name.substr(std::strlen(kGradientPrefix)), tensor);
  }
  shard.state = read_all(group.store(0));
  return shard;
}

TEST(ReplicaEquivalence, LocalBatchNormEqualsAComputationShardByShard) {
  const std::vector<int64_t> shares = {7, 5};
  const std::vector<Tensors> together = train(shares, DType::kFloat64, BatchNormMode::kLocal, 1);
  const std::vector<Shard> shards = {run_shard(0, 7), run_shard(7, 5)};
  const Graph source = model().graph();
  int parameters = 0, statistics = 0;
  for (const auto& [name, first] : shards[0].gradients) {
    const HostTensor start = source.find_value(name)->data.cast(DType::kFloat64);
    std::vector<double> expected = start.to_double();
    const std::vector<double> a = first.to_double(), b = shards[1].gradients.at(name).to_double();
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= 0.05 * (a[i] + b[i] + 1e-4 * expected[i]);
    EXPECT_LE(relative_error(together[0].at(name), HostTensor::from<double>(start.shape(), expected)), 1e-12) << name;
    ++parameters;
  }
  for (std::size_t r = 0; r < shares.size(); ++r) {
    for (const auto& [name, tensor] : shards[r].state) {
      if (name.find("running") == std::string::npos) continue;
      EXPECT_LE(relative_error(together[r].at(name), tensor), 1e-12) << name << " of replica " << r;
      ++statistics;
    }
  }
  EXPECT_GT(parameters, 20);
  EXPECT_GT(statistics, 20);
}

TEST(ReplicaEquivalence, LocalAndSynchronisedStatisticsDiffer) {
  // Otherwise the tests above could not tell one from the other.
  const Tensors sync = train({7, 5}, DType::kFloat64, BatchNormMode::kSync, 1).front();
  const Tensors local = train({7, 5}, DType::kFloat64, BatchNormMode::kLocal, 1).front();
  EXPECT_GT(errors(local, sync).back(), 1e-3);
}

}  // namespace
}  // namespace onward::test
