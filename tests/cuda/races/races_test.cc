// The race hooks find what was planted and nothing else. That no kernel of the project has a race is checked after
// every test of this program (main.cc).
#include "tests/cuda/emulator/races.h"

#include "tests/cuda/planted/planted.h"

namespace onward::test {
namespace {

std::vector<std::string> races_of(Fault fault) {
  const std::vector<float> x(4 * 200, 1.0f);
  std::vector<float> y(4, 0);
  run_planted(fault, x.data(), y.data(), 4, 200);
  return emulator::take_races();
}

TEST(Races, NoneInARightKernel) { EXPECT_THAT(races_of(Fault::kNone), testing::IsEmpty()); }

TEST(Races, FindsAMissingBarrierBeforeSharedMemoryIsRead) {
  EXPECT_THAT(races_of(Fault::kMissingBlockBarrier), testing::ElementsAre(testing::HasSubstr("shared memory")));
}

TEST(Races, FindsAMissingBarrierBeforeSharedMemoryIsUsedAgain) {
  EXPECT_THAT(races_of(Fault::kMissingReuseBarrier), testing::ElementsAre(testing::HasSubstr("shared memory")));
}

TEST(Races, FindsAMissingBarrierWithinAWarp) {
  EXPECT_THAT(races_of(Fault::kMissingWarpBarrier), testing::ElementsAre(testing::HasSubstr("shared memory")));
}

TEST(Races, FindsTwoBlocksThatAddToOnePlace) {
  EXPECT_THAT(races_of(Fault::kTwoBlocksOneSum), testing::ElementsAre(testing::HasSubstr("global memory")));
}

TEST(Races, FindsABlockThatReadsWhatAnotherWrites) {
  EXPECT_THAT(races_of(Fault::kReadOfAnotherBlock), testing::ElementsAre(testing::HasSubstr("global memory")));
}

}  // namespace
}  // namespace onward::test
