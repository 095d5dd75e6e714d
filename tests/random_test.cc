#include "graph/random.h"

#include <cmath>
#include <set>

namespace onward::test {
namespace {

// The known answers that the authors publish with Random123 (kat_vectors).
TEST(Random, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (RandomBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (RandomBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (RandomBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, SeedPurposeSiteStepAndIndexEachChangeTheNumbers) {
  const RandomBlock base = RandomStream(1, RandomPurpose::kCrop).block(3, 4);
  EXPECT_EQ(base, RandomStream(1, RandomPurpose::kCrop).block(3, 4));
  const std::set<RandomBlock> blocks{base,
                                     RandomStream(2, RandomPurpose::kCrop).block(3, 4),
                                     RandomStream(1ull << 32 | 1, RandomPurpose::kCrop).block(3, 4),
                                     RandomStream(1, RandomPurpose::kShuffle).block(3, 4),
                                     RandomStream(1, RandomPurpose::kCrop, 1).block(3, 4),
                                     RandomStream(1, RandomPurpose::kCrop).block(4, 4),
                                     RandomStream(1, RandomPurpose::kCrop).block(4, 3),
                                     RandomStream(1, RandomPurpose::kCrop).block(3, 4 + (1ull << 32))};
  EXPECT_EQ(blocks.size(), 8u);
}

TEST(Random, UniformAndNormalHaveTheirMoments) {
  const RandomStream stream(7, RandomPurpose::kInitialise);
  const int count = 100000;
  double uniform_sum = 0, normal_sum = 0, normal_squares = 0;
  for (int i = 0; i < count; ++i) {
    const double u = stream.uniform(0, i), n = stream.normal(1, i);
    ASSERT_TRUE(u >= 0 && u < 1);
    ASSERT_TRUE(std::isfinite(n));
    uniform_sum += u;
    normal_sum += n;
    normal_squares += n * n;
  }
  EXPECT_NEAR(uniform_sum / count, 0.5, 0.005);
  EXPECT_NEAR(normal_sum / count, 0.0, 0.015);
  EXPECT_NEAR(normal_squares / count, 1.0, 0.02);
}

TEST(Random, BelowIsTheHighHalfOfTheProduct) {
  const RandomStream stream(7, RandomPurpose::kShuffle);
  for (uint64_t bound : {uint64_t{1}, uint64_t{3}, uint64_t{1} << 33, ~uint64_t{0}}) {
    for (uint64_t i = 0; i < 100; ++i) {
      const RandomBlock words = stream.block(0, i);
      const auto exact =
          static_cast<uint64_t>((static_cast<unsigned __int128>(uint64_t{words[0]} << 32 | words[1]) * bound) >> 64);
      EXPECT_EQ(stream.below(0, i, bound), exact);
    }
  }
}

TEST(Random, ExtremeWordsStayInsideTheUnitInterval) {
  EXPECT_EQ(unit_double(0, 0), 0.0);
  EXPECT_LT(unit_double(~0u, ~0u), 1.0);
}

}  // namespace
}  // namespace onward::test
