#pragma once
#include <cstdint>
#include <vector>

#include "graph/attributes.h"

namespace onward {

// The attribute `perm`, or the reversed order without it. Error(kModel) unless it is a permutation of [0, rank).
std::vector<int64_t> permutation(const Attributes& attributes, std::size_t rank);

}  // namespace onward
