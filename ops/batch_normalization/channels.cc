#include "ops/batch_normalization/channels.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace onward {

void check_values_per_channel(double count, const std::string& node) {
  if (count != 1) return;
  throw Error(
      ErrorKind::kModel,
      fmt::format("{}: expected at least 2 values per channel in a training batch, found 1: batch normalization "
                  "needs a variance. Use a larger batch, or drop the last, smaller one (--drop-last)",
                  node));
}

}  // namespace onward
