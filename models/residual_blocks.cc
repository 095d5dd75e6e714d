#include "models/residual_blocks.h"

namespace onward {
namespace {

Value& join(Network& net, const std::string& name, Value& x, Value& y, const BlockOptions& options) {
  if (!options.shortcut) return net.relu(name + ".relu", y);
  Value* identity = &x;
  if (row_shape(x) != row_shape(y)) {
    const int64_t channels = row_shape(y)[0];
    identity = &net.conv(name + ".downsample.0", x, {.channels = channels, .kernel = 1, .stride = options.stride});
    identity = &net.batch_norm(name + ".downsample.1", *identity);
  }
  return net.relu(name + ".relu", net.add(name + ".add", y, *identity));
}

}  // namespace

Value& basic_block(Network& net, const std::string& name, Value& x, const BlockOptions& options) {
  Value* y = &net.conv(name + ".conv1", x, {.channels = options.channels, .stride = options.stride, .pad = 1});
  y = &net.relu(name + ".relu1", net.batch_norm(name + ".bn1", *y));
  y = &net.conv(name + ".conv2", *y, {.channels = options.channels, .pad = 1});
  return join(net, name, x, net.batch_norm(name + ".bn2", *y), options);
}

Value& bottleneck_block(Network& net, const std::string& name, Value& x, const BlockOptions& options) {
  Value* y = &net.conv(name + ".conv1", x, {.channels = options.channels, .kernel = 1});
  y = &net.relu(name + ".relu1", net.batch_norm(name + ".bn1", *y));
  y = &net.conv(name + ".conv2", *y, {.channels = options.channels, .stride = options.stride, .pad = 1});
  y = &net.relu(name + ".relu2", net.batch_norm(name + ".bn2", *y));
  y = &net.conv(name + ".conv3", *y, {.channels = options.channels * kBottleneckExpansion, .kernel = 1});
  return join(net, name, x, net.batch_norm(name + ".bn3", *y), options);
}

}  // namespace onward
