#pragma once
#include <string_view>

#include "runtime/data/dataset.h"

namespace onward {

// Data that can be learned: each class is a pattern of a few waves over the image, each sample that pattern plus noise.
// The same for the same options; the splits differ in their noise. Labels go round the classes in order. Error(kUsage)
// for a shape, class count or sample count below 1.
Dataset make_synthetic(const SyntheticOptions& options, Split split);

// True for "synthetic" and "synthetic:...".
bool names_synthetic(std::string_view path);
// Puts the sample counts of "synthetic:TRAIN,TEST" into the options. Error(kUsage) for another form.
SyntheticOptions parse_synthetic(std::string_view path, SyntheticOptions options);

}  // namespace onward
