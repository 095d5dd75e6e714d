#pragma once
#include <filesystem>

#include "runtime/data/dataset.h"

namespace onward {

// The MNIST family's IDX files (Y. LeCun, C. Cortes, C. Burges, "The MNIST database": a big-endian header, then bytes).
// True if the folder holds any file of the family, plain or .gz.
bool has_idx_files(const std::filesystem::path& folder);

// Reads the images and labels of a split: {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte, each plain (preferred)
// or .gz. Ten classes. Error(kData) as open_dataset says.
Dataset read_idx(const std::filesystem::path& folder, Split split);

}  // namespace onward
