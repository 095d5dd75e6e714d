#pragma once
#include <array>
#include <string_view>
#include <vector>

#include "runtime/data/dataset.h"

namespace onward {

// Mean and standard deviation of each channel, on the scale where a byte of 255 is 1. One entry serves every channel.
struct Normalisation {
  std::vector<double> mean;
  std::vector<double> std_dev;
};

// What --normalize says: "auto" (by the data set's name; "none" for generated data), "cifar10", "cifar100", "mnist",
// "fashion-mnist", "imagenet", "none" (x / 255), or "M,M,M/S,S,S" with one number or one per channel on either side.
// Error(kUsage) for anything else and for a deviation that is not above zero.
Normalisation parse_normalisation(std::string_view text, std::string_view dataset_name);

// (byte / 255 - mean) / std_dev of each channel and byte, computed in double and rounded to float once on the host:
// every backend, and the double run too, sees the same values.
class NormaliseTable {
 public:
  // Error(kUsage) if the constants are neither one nor `channels`.
  NormaliseTable(const Normalisation& constants, int64_t channels);

  const float* channel(int64_t c) const { return rows_[static_cast<std::size_t>(c)].data(); }
  float value(int64_t c, uint8_t byte) const { return channel(c)[byte]; }

 private:
  std::vector<std::array<float, 256>> rows_;
};

}  // namespace onward
