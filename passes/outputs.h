#pragma once
#include <string_view>

#include "graph/scalars.h"

namespace onward {

inline bool is_metric_output(std::string_view name) {
  return name == kLossOutput || name == kCorrectTop1Output || name == kCorrectTop5Output;
}

}  // namespace onward
