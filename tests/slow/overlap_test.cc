// The seed's ResNet on two replicas: gradients travel while backward goes on. Read from the trace of one real step.
// With synchronised batch norm the order that is checked follows from dependencies alone, so that a loaded machine
// cannot change it: the communication stream works in order, and the sums of the first layer's batch norm, on which
// backward waits, come behind the buckets.
#include <algorithm>
#include <map>

#include "graph/scalars.h"
#include "models/build_model.h"
#include "passes/model_program.h"
#include "runtime/replicas.h"
#include "tests/support/tensors.h"

namespace onward::test {
namespace {

constexpr int kReplicas = 2;
constexpr int64_t kShare = 2;

// One training step and what it did.
struct TracedStep {
  Plan plan;
  Trace trace;

  TracedStep() {
    ModelProgram program(build_model({.name = "seed-resnet"}), {.replicas = kReplicas});
    ReplicaGroup replicas(program, parse_devices("cpu:2", kReplicas), registry());
    const ProgramKey key{ProgramMode::kTrain, kShare};
    plan = replicas.plan(key);
    std::vector<StepFeeds> feeds(kReplicas);
    for (StepFeeds& feed : feeds) {
      feed.local_batch = kShare;
      feed.tensors["input"].tensor = random_tensor(DType::kFloat32, {kShare, 3, 32, 32}, -1, 1, 1);
      feed.tensors[kLabelInput].tensor = HostTensor::from<int64_t>({kShare}, {3, 7});
      feed.scalars = {{kLearningRate, 1e-3}, {kOptimizerStep, 1}, {kLossDenominator, kReplicas * kShare}};
    }
    replicas.start_trace();
    replicas.run(ProgramMode::kTrain, feeds);
    trace = replicas.stop_trace();
  }

  const TraceEntry& entry(const PlanStep& step, int replica) const {
    const auto found = std::find_if(trace.entries.begin(), trace.entries.end(), [&](const TraceEntry& entry) {
      return entry.replica == replica && entry.stream == step.stream && entry.name == step.node;
    });
    if (found == trace.entries.end()) throw std::out_of_range(step.node);
    return *found;
  }

  std::vector<const PlanStep*> steps_from(const std::string& origin, int stream) const {
    std::vector<const PlanStep*> steps;
    for (const PlanStep& step : plan.steps) {
      if (step.origin.starts_with(origin) && step.stream == stream) steps.push_back(&step);
    }
    return steps;
  }
};

TEST(Overlap, GradientsOfTheSeedsResNetTravelBehindBackward) {
  const TracedStep step;
  const auto buckets = step.steps_from("gradient bucket", kCommunicationStream);
  const auto backward = step.steps_from("backward of", kComputeStream);
  const auto sums = step.steps_from("backward of", kCommunicationStream);  // of batch norms
  ASSERT_GE(buckets.size(), 3u);
  ASSERT_FALSE(backward.empty());
  ASSERT_FALSE(sums.empty());
  for (int replica = 0; replica < kReplicas; ++replica) {
    std::map<int, int> entries;
    for (const TraceEntry& entry : step.trace.entries) entries[entry.stream] += entry.replica == replica;
    EXPECT_GE(entries.size(), 2u) << "streams";
    const double end = step.entry(*backward.back(), replica).end_us;
    for (std::size_t i = 0; i + 1 < buckets.size(); ++i) {
      EXPECT_LT(buckets[i]->collective, sums.back()->collective) << buckets[i]->node;
      EXPECT_LT(step.entry(*buckets[i], replica).begin_us, end) << buckets[i]->node;
    }
  }
}

}  // namespace
}  // namespace onward::test
