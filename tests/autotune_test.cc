#include "runtime/autotune.h"

#include "ops/core/layout.h"
#include "runtime/choose_kernels.h"
#include "tests/support/net.h"

namespace onward::test {
namespace {

// Two convolutions of one configuration, one of another, one that Winograd does not take.
Graph convolutions(int64_t batch) {
  Net net(DType::kFloat32);
  Value* x = net.conv(net.input("x", {batch, 32, 8, 8}), "a", 32, 3);
  x = net.conv(x, "b", 32, 3);
  x = net.conv(x, "c", 64, 3);
  net.graph.add_output(*net.conv(x, "d", 64, 1));
  return std::move(net.graph);
}

std::vector<bool> winograd_of(const Graph& graph, const std::set<std::string>& keys) {
  std::vector<bool> flags;
  for (const ChosenKernel& chosen : choose_kernels(graph, registry(), {.winograd_for = keys}))
    flags.push_back(chosen.spec.winograd);
  return flags;
}

// Builds without oneDNN have none.
bool has_winograd() {
  const Graph graph = convolutions(2);
  const auto allowed = choose_kernels(graph, registry(), {.winograd = true}),
             direct = choose_kernels(graph, registry(), {});
  return allowed.front().kernel != direct.front().kernel;
}

const std::string kFirst = "Conv:32x8x8:32x32x3x3", kSecond = "Conv:32x8x8:64x32x3x3";

TEST(Autotune, AChoiceServesEveryBatchSizeOfItsConfiguration) {
  if (!has_winograd()) GTEST_SKIP() << "this build has no Winograd";
  for (const int64_t batch : {1, 2, 5}) {
    EXPECT_EQ(winograd_of(convolutions(batch), {kFirst}), (std::vector<bool>{true, true, false, false}));
    EXPECT_EQ(winograd_of(convolutions(batch), {kSecond}), (std::vector<bool>{false, false, true, false}));
  }
  EXPECT_EQ(winograd_of(convolutions(2), {}), std::vector<bool>(4));
}

TEST(Autotune, MeasuresWhatHasAChoice) {
  for (const std::string& key : autotune(convolutions(4), registry(), {})) EXPECT_TRUE(key == kFirst || key == kSecond);
  EXPECT_TRUE(autotune(convolutions(4), registry(), {.max_priority = 0}).empty());
}

}  // namespace
}  // namespace onward::test
