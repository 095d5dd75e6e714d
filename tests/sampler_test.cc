#include "runtime/data/sampler.h"

#include <algorithm>
#include <numeric>

#include "graph/error.h"
#include "tests/support/expect_error.h"

namespace onward::test {
namespace {

std::vector<int64_t> epoch_order(Sampler& sampler, int64_t epoch) {
  std::vector<int64_t> order;
  for (int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    const std::vector<int64_t> batch = sampler.batch(epoch, step);
    EXPECT_EQ(static_cast<int64_t>(batch.size()), sampler.batch_count(step));
    order.insert(order.end(), batch.begin(), batch.end());
  }
  return order;
}

std::vector<int64_t> counting(int64_t count) {
  std::vector<int64_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(SplitBatch, A16_SharesDifferByAtMostOne) {
  EXPECT_EQ(split_batch(100, 3), (std::vector<BatchShare>{{0, 34}, {34, 33}, {67, 33}}));
  EXPECT_EQ(split_batch(2, 3), (std::vector<BatchShare>{{0, 1}, {1, 1}, {2, 0}}));
  EXPECT_EQ(split_batch(0, 2), (std::vector<BatchShare>{{0, 0}, {0, 0}}));
  for (int64_t count = 0; count < 40; ++count) {
    for (int64_t replicas = 1; replicas < 9; ++replicas) {
      int64_t next = 0, least = count, most = 0;
      for (const BatchShare& share : split_batch(count, replicas)) {
        EXPECT_EQ(share.first, next);
        next += share.count;
        least = std::min(least, share.count);
        most = std::max(most, share.count);
      }
      EXPECT_EQ(next, count);
      EXPECT_LE(most - least, 1);
    }
  }
}

TEST(Sampler, A7_EverySampleOnceHoweverTheEpochEnds) {
  Sampler sampler({10, 6, false});
  EXPECT_EQ(sampler.steps_per_epoch(), 2);
  EXPECT_EQ(sampler.samples_per_epoch(), 10);
  EXPECT_EQ(epoch_order(sampler, 0), counting(10));
  int64_t counted = 0;
  for (int64_t step = 0; step < 2; ++step) {
    for (const BatchShare& share : split_batch(sampler.batch_count(step), 3)) counted += share.count;
  }
  EXPECT_EQ(counted, 10);
  EXPECT_EQ(split_batch(sampler.batch_count(1), 3), (std::vector<BatchShare>{{0, 2}, {2, 1}, {3, 1}}));
}

TEST(Sampler, A9_OrderIsAFunctionOfSeedAndEpoch) {
  Sampler sampler({1000, 64, true, false, 5}), again({1000, 64, true, false, 5}), other({1000, 64, true, false, 6});
  const std::vector<int64_t> first = epoch_order(sampler, 0), second = epoch_order(sampler, 1);
  EXPECT_NE(first, second);
  EXPECT_NE(first, counting(1000));
  EXPECT_EQ(second, epoch_order(again, 1));  // without epoch 0 before it
  EXPECT_EQ(first, epoch_order(again, 0));
  EXPECT_NE(first, epoch_order(other, 0));
  Sampler larger({1000, 100, true, false, 5});
  EXPECT_EQ(first, epoch_order(larger, 0));
  for (std::vector<int64_t> order : {first, second}) {
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, counting(1000));
  }
}

TEST(Sampler, PermutationsAreUniform) {
  std::vector<int> counts(6);
  for (int64_t epoch = 0; epoch < 6000; ++epoch) {
    Sampler sampler({3, 3, true, false, 1});
    const std::vector<int64_t> order = sampler.batch(epoch, 0);
    ++counts[static_cast<std::size_t>(order[0] * 2 + (order[1] > order[2]))];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 130);
}

TEST(Sampler, D3_AResumeContinuesWithTheNextIndices) {
  Sampler sampler({100, 8, true, false, 2});
  const std::vector<int64_t> whole = epoch_order(sampler, 3);
  Sampler resumed({100, 8, true, false, 2});
  EXPECT_EQ(resumed.batch(3, 7), std::vector<int64_t>(whole.begin() + 56, whole.begin() + 64));
}

TEST(Sampler, DropLastLeavesOutAShortBatch) {
  Sampler sampler({10, 4, false, true});
  EXPECT_EQ(sampler.steps_per_epoch(), 2);
  EXPECT_EQ(sampler.samples_per_epoch(), 8);
  EXPECT_EQ(Sampler({8, 4, false, true}).steps_per_epoch(), 2);
  EXPECT_EQ(Sampler({8, 4}).steps_per_epoch(), 2);
  EXPECT_EQ(Sampler({3, 4}).batch_count(0), 3);
  expect_error(ErrorKind::kUsage, "leave out --drop-last", [] { Sampler({3, 4, false, true}); });
  expect_error(ErrorKind::kUsage, "found batch size 0", [] { Sampler({3, 0}); });
  expect_error(ErrorKind::kUsage, "0 samples", [] { Sampler({0, 3}); });
  expect_error(ErrorKind::kUsage, "expected a step in 0..1 of epoch 0, found 2", [&] { sampler.batch(0, 2); });
}

}  // namespace
}  // namespace onward::test
