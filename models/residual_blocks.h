#pragma once
#include <string>

#include "models/network.h"

namespace onward {

// The blocks of He et al. 2015, named as torchvision names them. The shortcut is the input itself, or, where the shape
// changes, a 1x1 convolution with BatchNormalization ("downsample"). Without `shortcut` only the main path remains.
struct BlockOptions {
  int64_t channels = 0;
  int64_t stride = 1;
  bool shortcut = true;
};

// 3x3, 3x3. Output: options.channels.
Value& basic_block(Network& net, const std::string& name, Value& x, const BlockOptions& options);

// 1x1, 3x3 with the stride, 1x1 to kBottleneckExpansion * options.channels.
inline constexpr int64_t kBottleneckExpansion = 4;
Value& bottleneck_block(Network& net, const std::string& name, Value& x, const BlockOptions& options);

}  // namespace onward
