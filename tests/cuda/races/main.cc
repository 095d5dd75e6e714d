// Fails every test that leaves a race behind.
#include "tests/cuda/emulator/races.h"

namespace {

class RaceListener final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& info) override {
    for (const std::string& race : onward::emulator::take_races()) ADD_FAILURE() << race << "; in " << info.name();
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // First of all listeners at the end of a test, so that the printer sees its failures.
  testing::UnitTest::GetInstance()->listeners().Append(new RaceListener);
  return RUN_ALL_TESTS();
}
