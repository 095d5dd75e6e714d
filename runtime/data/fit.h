#pragma once
#include <string_view>

#include "graph/types.h"
#include "runtime/data/dataset.h"

namespace onward {

enum class FitMode : uint8_t { kNone, kPad };
// "none", "pad". Error(kUsage) for anything else.
FitMode parse_fit(std::string_view text);

// How a data set's images become the model's input: centred in a larger image of zero bytes (an odd difference leaves
// the additional row or column at the bottom or right), one channel repeated.
struct Fit {
  ImageShape image;   // in the data set
  ImageShape output;  // as delivered: the model's C, H, W
  Shape sample;       // the model's input without its batch dimension; as output, or another form of as many elements
  int64_t top = 0;    // rows and columns of zeros before the image
  int64_t left = 0;
};

// `model_sample` is the model's input shape without its batch dimension; a negative dimension fits any size.
//   kNone  the shapes must be equal, or a model input that is not C, H, W (a flat vector) must hold as many elements.
//   kPad   smaller images are padded and one channel is repeated to three.
// Error(kData) states both shapes and says when --fit pad would help.
Fit fit_images(const ImageShape& image, const Shape& model_sample, FitMode mode);

}  // namespace onward
