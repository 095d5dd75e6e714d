#include "runtime/local_communicator.h"

#include <chrono>
#include <functional>
#include <thread>

#include "graph/error.h"

namespace onward::test {
namespace {

// Runs `body` on one thread per rank; returns each rank's error message, "" where there was none.
std::vector<std::string> on_all(int size, double timeout, const std::function<void(Communicator&)>& body) {
  auto members = make_local_communicators(size, timeout);
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(*members[static_cast<std::size_t>(rank)]);
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(rank)] = error.message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

// A collective that moves nothing.
void meet(Communicator& c) { c.broadcast(nullptr, 0, 0); }

float value_of(int rank, int64_t i) { return static_cast<float>(rank + 1) / static_cast<float>(i % 97 + 3); }

TEST(LocalCommunicator, SumsInAscendingRankForEveryElement) {
  for (int size = 1; size <= 4; ++size) {
    for (const int64_t count : {0, 1, 5, 1000, 100003}) {
      std::vector<std::vector<float>> data(static_cast<std::size_t>(size));
      for (int r = 0; r < size; ++r) {
        for (int64_t i = 0; i < count; ++i) data[static_cast<std::size_t>(r)].push_back(value_of(r, i));
      }
      const auto errors = on_all(size, 60, [&](Communicator& c) {
        c.all_reduce_sum(data[static_cast<std::size_t>(c.rank())].data(), count, DType::kFloat32);
      });
      EXPECT_THAT(errors, testing::Each(""));
      for (int64_t i = 0; i < count; ++i) {
        float expected = value_of(0, i);
        for (int r = 1; r < size; ++r) expected += value_of(r, i);
        for (const auto& member : data) ASSERT_EQ(member[static_cast<std::size_t>(i)], expected) << size << " " << i;
      }
    }
  }
}

TEST(LocalCommunicator, SumsDoublesAndIntegers) {
  std::vector<double> doubles{0.1, 0.2, 0.3};
  std::vector<int64_t> integers{int64_t{1} << 60, 2, -7};
  const auto errors = on_all(3, 60, [&](Communicator& c) {
    c.all_reduce_sum(&doubles[static_cast<std::size_t>(c.rank())], 1, DType::kFloat64);
    c.all_reduce_sum(&integers[static_cast<std::size_t>(c.rank())], 1, DType::kInt64);
  });
  EXPECT_THAT(errors, testing::Each(""));
  EXPECT_THAT(doubles, testing::Each(0.1 + 0.2 + 0.3));
  EXPECT_THAT(integers, testing::Each((int64_t{1} << 60) - 5));
}

TEST(LocalCommunicator, GathersAndBroadcasts) {
  std::vector<std::vector<int32_t>> gathered(3, std::vector<int32_t>(6)), sent{{0, 1}, {10, 11}, {20, 21}};
  const auto errors = on_all(3, 60, [&](Communicator& c) {
    const auto r = static_cast<std::size_t>(c.rank());
    c.all_gather(sent[r].data(), gathered[r].data(), 8);
    c.broadcast(sent[r].data(), 8, 1);
  });
  EXPECT_THAT(errors, testing::Each(""));
  EXPECT_THAT(gathered, testing::Each(testing::ElementsAre(0, 1, 10, 11, 20, 21)));
  EXPECT_THAT(sent, testing::Each(testing::ElementsAre(10, 11)));
}

TEST(LocalCommunicator, ManyCollectivesInARow) {
  std::vector<std::vector<int64_t>> data(4, std::vector<int64_t>(3));
  const auto errors = on_all(4, 60, [&](Communicator& c) {
    auto& mine = data[static_cast<std::size_t>(c.rank())];
    for (int i = 0; i < 500; ++i) {
      mine.assign(3, c.rank() + i);
      c.all_reduce_sum(mine.data(), 3, DType::kInt64);
      if (mine[2] != 6 + 4 * i) throw Error(ErrorKind::kRun, "wrong sum");
    }
  });
  EXPECT_THAT(errors, testing::Each(""));
}

TEST(LocalCommunicator, MismatchIsAnErrorOnAll) {
  std::vector<float> data(16);
  for (const std::function<void(Communicator&)>& odd : std::vector<std::function<void(Communicator&)>>{
           [&](Communicator& c) { c.all_reduce_sum(data.data(), 3, DType::kFloat32); },
           [&](Communicator& c) { c.all_reduce_sum(data.data(), 4, DType::kFloat64); },
           [&](Communicator& c) { c.broadcast(data.data(), 16, 0); }}) {
    const auto errors = on_all(3, 60, [&](Communicator& c) {
      std::vector<float> mine(4);
      c.rank() == 1 ? odd(c) : c.all_reduce_sum(mine.data(), 4, DType::kFloat32);
    });
    EXPECT_THAT(errors, testing::Each(testing::HasSubstr("rank 1: ")));
  }
}

TEST(LocalCommunicator, TimeOutNamesWhoIsMissing) {
  const auto errors = on_all(3, 0.2, [](Communicator& c) {
    if (c.rank() != 1) meet(c);
  });
  EXPECT_THAT(errors[0], testing::HasSubstr("for rank 1"));
  EXPECT_EQ(errors[1], "");
  EXPECT_THAT(errors[2], testing::HasSubstr("for rank 1"));
}

TEST(LocalCommunicator, AbortWakesAllAndStays) {
  const auto start = std::chrono::steady_clock::now();
  const auto errors = on_all(3, 60, [](Communicator& c) {
    if (c.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      c.abort("replica 2 gave up");
    }
    meet(c);
  });
  EXPECT_THAT(errors, testing::Each(testing::HasSubstr("replica 2 gave up")));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace onward::test
