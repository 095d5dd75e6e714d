#pragma once
#include <string_view>

namespace onward {

// The outputs that the loss pass adds, found by these names by whoever runs the program. In the graphs that leave the
// pipeline they are float64 scalars.
inline constexpr const char* kLossOutput = "loss";
inline constexpr const char* kCorrectTop1Output = "correct_top1";
inline constexpr const char* kCorrectTop5Output = "correct_top5";

inline bool is_metric_output(std::string_view name) {
  return name == kLossOutput || name == kCorrectTop1Output || name == kCorrectTop5Output;
}

}  // namespace onward
