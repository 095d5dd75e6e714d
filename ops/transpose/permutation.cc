#include "ops/transpose/permutation.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace onward {

std::vector<int64_t> permutation(const Attributes& attributes, std::size_t rank) {
  std::vector<int64_t> reversed;
  for (std::size_t i = rank; i-- > 0;) reversed.push_back(static_cast<int64_t>(i));
  const std::vector<int64_t> perm = attributes.get_ints("perm", reversed);
  std::vector<bool> seen(rank);
  bool valid = perm.size() == rank;
  for (std::size_t i = 0; valid && i < rank; ++i) {
    valid = perm[i] >= 0 && perm[i] < static_cast<int64_t>(rank) && !seen[static_cast<std::size_t>(perm[i])];
    if (valid) seen[static_cast<std::size_t>(perm[i])] = true;
  }
  if (!valid) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected the attribute 'perm' to be a permutation of {} dimensions, found [{}]", rank,
                            fmt::join(perm, ",")));
  }
  return perm;
}

}  // namespace onward
