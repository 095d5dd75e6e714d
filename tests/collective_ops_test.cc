// The ops that communicate, against a communicator that notes its calls.
#include <cstring>

#include "graph/error.h"
#include "ops/core/communicator.h"
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/layout.h"
#include "ops/core/registry.h"
#include "tests/support/expect_error.h"

namespace onward::test {
namespace {

using testing::ElementsAre;

// Rank 0 of two replicas that hold the same numbers: sums double.
class TwinCommunicator final : public Communicator {
 public:
  std::vector<int64_t> reduced;  // counts of the calls

  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce_sum(void* data, int64_t count, DType dtype) override {
    reduced.push_back(count);
    ASSERT_EQ(dtype, DType::kFloat32);
    for (int64_t i = 0; i < count; ++i) static_cast<float*>(data)[i] *= 2;
  }
  void all_gather(const void* send, void* receive, std::size_t bytes) override {
    for (std::size_t r = 0; r < 2; ++r) std::memcpy(static_cast<char*>(receive) + r * bytes, send, bytes);
  }
  void broadcast(void*, std::size_t, int) override {}
  void abort(const char*) override {}
};

// An AllReduce of operands with 3 and 2 numbers.
struct Bucket {
  Graph graph;
  std::unique_ptr<Kernel> kernel;

  Bucket() {
    Value& a = graph.add_input("a", {DType::kFloat32, {3}});
    Value& b = graph.add_input("b", {DType::kFloat32, {2}});
    Node& node = graph.add_node({kOnwardDomain, "AllReduce"}, {&a, &b}, {"x", "y"}, {{"collective", int64_t{0}}});
    infer_node(node, registry());
    const KernelSpec spec = kernel_spec(node, 1, 0, 2);
    kernel = registry().kernel(spec, Backend::kCpu)->make(spec);
  }
  void run(std::vector<const void*> inputs, std::vector<void*> outputs, Communicator* communicator) {
    kernel->run({.inputs = inputs.data(), .outputs = outputs.data(), .communicator = communicator});
  }
};

TEST(AllReduce, MembersSideBySideAreOneCall) {
  alignas(64) float memory[64] = {1, 2, 3, 4, 5};
  TwinCommunicator communicator;
  Bucket().run({memory, memory + 3}, {memory, memory + 3}, &communicator);
  EXPECT_THAT(communicator.reduced, ElementsAre(5));
  EXPECT_THAT(std::vector<float>(memory, memory + 5), ElementsAre(2, 4, 6, 8, 10));
}

TEST(AllReduce, PaddingToTheNextAlignedAddressStaysOneCall) {
  alignas(64) float memory[64] = {1, 2, 3};
  memory[16] = 4, memory[17] = 5;
  TwinCommunicator communicator;
  Bucket().run({memory, memory + 16}, {memory, memory + 16}, &communicator);
  EXPECT_THAT(communicator.reduced, ElementsAre(18));
  EXPECT_EQ(memory[17], 10);
}

TEST(AllReduce, ScatteredMembersAreCopiedAndReducedOneByOne) {
  const float a[3] = {1, 2, 3}, b[2] = {4, 5};
  float x[3], y[2];
  TwinCommunicator communicator;
  Bucket().run({a, b}, {x, y}, &communicator);
  EXPECT_THAT(communicator.reduced, ElementsAre(3, 2));
  EXPECT_THAT(x, ElementsAre(2, 4, 6));
  EXPECT_THAT(y, ElementsAre(8, 10));
  EXPECT_EQ(a[0], 1);
}

TEST(AllReduce, AloneItCopies) {
  const float a[3] = {1, 2, 3}, b[2] = {4, 5};
  float x[3], y[2];
  Bucket().run({a, b}, {x, y}, nullptr);
  EXPECT_THAT(x, ElementsAre(1, 2, 3));
  EXPECT_THAT(y, ElementsAre(4, 5));
}

TEST(AllReduce, OnlyPartialValuesMayBeSummed) {
  for (const auto distribution :
       {Distribution::kReplicated, Distribution::kBatchSplit, Distribution::kLocal, Distribution::kPartial}) {
    Graph graph;
    Value& a = graph.add_input("gradient", {DType::kFloat32, {3}});
    a.distribution = distribution;
    Node& node = graph.add_node({kOnwardDomain, "AllReduce"}, {&a}, {"x"}, {{"collective", int64_t{0}}});
    if (distribution == Distribution::kPartial) {
      distribute_node(node, 2, registry());
      EXPECT_EQ(node.output(0)->distribution, Distribution::kReplicated);
    } else {
      expect_error(ErrorKind::kModel, "'gradient'", [&] { distribute_node(node, 2, registry()); });
    }
  }
}

TEST(AllGather, StacksTheReplicasAndChecksTheirNumber) {
  Graph graph;
  Value& a = graph.add_input("a", {DType::kFloat64, {2}});
  Node& node =
      graph.add_node({kOnwardDomain, "AllGather"}, {&a}, {"x"}, {{"collective", int64_t{0}}, {"replicas", int64_t{2}}});
  infer_node(node, registry());
  EXPECT_EQ(node.output(0)->type.shape(), (Shape{2, 2}));
  const KernelSpec spec = kernel_spec(node, 1, 0, 2);
  const auto kernel = registry().kernel(spec, Backend::kCpu)->make(spec);
  const double in[2] = {1, 2};
  double out[4];
  const void* inputs[] = {in};
  void* outputs[] = {out};
  TwinCommunicator communicator;
  kernel->run({.inputs = inputs, .outputs = outputs, .communicator = &communicator});
  EXPECT_THAT(out, ElementsAre(1, 2, 1, 2));
  expect_error(ErrorKind::kDevice, "a group of 2 replicas, found 1",
               [&] { kernel->run({.inputs = inputs, .outputs = outputs}); });
}

}  // namespace
}  // namespace onward::test
