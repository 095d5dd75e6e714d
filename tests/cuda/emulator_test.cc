// What the emulator makes of right and wrong kernels.
#include <numeric>

#include "tests/cuda/planted/planted.h"

namespace onward::test {
namespace {

constexpr int64_t kRows = 5, kColumns = 300;

std::vector<float> run(Fault fault) {
  std::vector<float> x(kRows * kColumns), y(kRows, 0);
  std::iota(x.begin(), x.end(), 1.0f);
  run_planted(fault, x.data(), y.data(), kRows, kColumns);
  return y;
}

std::vector<float> expected() {
  std::vector<float> y;
  for (int64_t row = 0; row < kRows; ++row) {
    const double first = static_cast<double>(row * kColumns + 1);
    y.push_back(static_cast<float>(2 * (first * kColumns + kColumns * (kColumns - 1) / 2.0)));
  }
  return y;
}

TEST(Emulator, RunsBlocksWithBarriersAndSharedMemory) { EXPECT_EQ(run(Fault::kNone), expected()); }

TEST(Emulator, ShowsAMissingBarrierAsAWrongValue) {
  // The first thread reads what the others have not written: shared memory starts as NaN.
  for (const float value : run(Fault::kMissingBlockBarrier)) EXPECT_NE(value, value);
}

class EmulatorDeathTest : public testing::Test {
 protected:
  // Other tests of the program may have started threads.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(EmulatorDeathTest, EndsWhereAGpuWouldHang) {
  EXPECT_DEATH(run(Fault::kHalfAtABarrier), "threads wait at different barriers, in block \\(0, 0, 0\\)");
}

TEST_F(EmulatorDeathTest, EndsWhereAShuffleReadsALaneThatHasEnded) {
  EXPECT_DEATH(run(Fault::kShuffleWithNobody), "a shuffle reads a lane that does not take part");
}

}  // namespace
}  // namespace onward::test
