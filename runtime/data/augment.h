#pragma once
#include <span>
#include <string>
#include <string_view>

#include "graph/random.h"
#include "runtime/data/fit.h"

namespace onward {

// Random changes of a training image. Evaluation takes the default: none.
struct Augmentation {
  bool hflip = false;  // left-right with probability 1/2
  bool vflip = false;  // upside down with probability 1/2, independently
  int64_t crop = 0;    // pad by so many zero bytes on every side, then cut the model's size at a random place

  bool any() const { return hflip || vflip || crop > 0; }
  std::string text() const;  // as parse_augmentation reads it
};

// "none" (or empty), or a list such as "hflip,vflip,crop:4". Error(kUsage) for anything else.
Augmentation parse_augmentation(std::string_view text);

// What was drawn for one sample in one epoch: the cut is moved by `down` rows and `right` columns, then flipped.
struct AugmentChoice {
  bool hflip = false;
  bool vflip = false;
  int64_t down = 0;   // in [-crop, crop]
  int64_t right = 0;  // in [-crop, crop]
};

// Draws choices as functions of (seed, epoch, sample index): they do not depend on workers, replicas, or batches.
class Augmenter {
 public:
  Augmenter(const Augmentation& augmentation, uint64_t seed);
  AugmentChoice choose(int64_t epoch, int64_t sample) const;

 private:
  Augmentation augmentation_;
  RandomStream hflip_, vflip_, crop_;
};

// Writes an image of fit.output's size: the source (of fit.image's size) placed in it, moved and flipped as chosen.
// Pixels outside the source are zero bytes, to be normalised like any other.
void place_image(std::span<const uint8_t> source, const Fit& fit, const AugmentChoice& choice, std::span<uint8_t> out);

}  // namespace onward
