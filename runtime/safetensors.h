#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/tensor.h"

namespace onward {

// A safetensors file (https://github.com/huggingface/safetensors, "Format"): 8 bytes little-endian length of the
// header, a JSON header with dtype, shape and offsets of every tensor and a map of texts, then the data without holes.
// Readable by every safetensors library.
struct Safetensors {
  std::vector<std::pair<std::string, HostTensor>> tensors;  // in the order of the file
  std::map<std::string, std::string> metadata;

  // nullptr if there is none of that name.
  const HostTensor* find(const std::string& name) const;
};

// Writes the file atomically (graph/atomic_file.h) with the key "checksum" added to the metadata: XXH3-64 over the
// whole file, its own 16 digits taken as zeros. Error(kRun) when it cannot be written, kModel for an element type that
// the format has no name for.
void save_safetensors(const std::string& path, const Safetensors& file);

// Reads and checks everything: length, header, offsets, checksum where there is one (or must be:
// files of this program always have one). Error(kData) naming the file, what
// was expected and what was found; never a partial result.
Safetensors load_safetensors(const std::string& path, bool checksum_required = false);

// Whether the file has the format's first bytes: a length that fits the file, and a JSON object. No errors.
bool begins_as_safetensors(const std::string& path);

}  // namespace onward
