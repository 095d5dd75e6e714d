#pragma once
#include <span>

#include "graph/layout.h"
#include "runtime/data/augment.h"
#include "runtime/data/fit.h"
#include "runtime/data/normalise.h"

namespace onward {

// From the bytes of a data set's image to one sample of the model's input: place and augment, then normalise by table.
// Pure: the result depends on the image, the epoch and the sample index only. Safe to use from several threads.
class Transform {
 public:
  Transform(Fit fit, const Normalisation& normalisation, const Augmentation& augmentation = {}, uint64_t seed = 0);

  // Writes fit().output.count() elements of float or double, row-major C, H, W or channels-last H, W, C.
  template <typename T>
  void apply(std::span<const uint8_t> image, int64_t epoch, int64_t sample, Layout layout, T* out) const;

  const Fit& fit() const { return fit_; }
  const Augmentation& augmentation() const { return augmentation_; }

 private:
  Fit fit_;
  Augmentation augmentation_;
  Augmenter augmenter_;
  NormaliseTable table_;
};

}  // namespace onward
