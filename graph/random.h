#pragma once
#include <array>
#include <cstdint>

namespace onward {

// Random numbers as functions of counters: nothing is stored, so the same (seed, purpose, step, index) gives the same
// number for any number of workers and replicas, in any order, and after a resume.
//
// Philox4x32-10: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
using RandomBlock = std::array<uint32_t, 4>;

constexpr RandomBlock philox4x32_10(RandomBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// What a stream of numbers is for; streams of different purposes are independent. The numbers are part of every run's
// reproducibility: never renumber.
enum class RandomPurpose : uint32_t {
  kShuffle = 1,
  kHorizontalFlip = 2,
  kVerticalFlip = 3,
  kCrop = 4,
  kDropout = 5,
  kInitialise = 6,
  kSyntheticData = 7,
};

// A double in [0, 1) with 53 random bits from two words.
constexpr double unit_double(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

// The numbers of one seed, purpose and site (which dropout, which parameter; 0 where there is only one). A step (or
// epoch) and an index (sample, element) name one block of four words.
class RandomStream {
 public:
  constexpr RandomStream(uint64_t seed, RandomPurpose purpose, uint64_t site = 0) {
    const RandomBlock mixed = philox4x32_10(
        {static_cast<uint32_t>(site), static_cast<uint32_t>(site >> 32), 0, static_cast<uint32_t>(purpose)},
        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    key_ = {mixed[0], mixed[1]};
  }

  constexpr RandomBlock block(uint64_t step, uint64_t index) const {
    return philox4x32_10({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(step),
                          static_cast<uint32_t>(step >> 32)},
                         key_);
  }
  // In [0, 1).
  constexpr double uniform(uint64_t step, uint64_t index) const {
    const RandomBlock words = block(step, index);
    return unit_double(words[0], words[1]);
  }
  // An integer in [0, bound), bound > 0.
  uint64_t below(uint64_t step, uint64_t index, uint64_t bound) const;
  // Standard normal (Box and Muller 1958).
  double normal(uint64_t step, uint64_t index) const;

 private:
  std::array<uint32_t, 2> key_;
};

}  // namespace onward
