#include <fmt/format.h>

#include "models/builders.h"
#include "models/network.h"

namespace onward {
namespace {

constexpr int64_t kStemChannels = 64;
constexpr int64_t kStageChannels[] = {128, 256, 512, 512};
constexpr PoolOptions kPool{.kernel = 3, .stride = 2, .pad = 1};

Value& block(Network& net, const std::string& name, Value& x, int64_t channels, bool shortcut) {
  Value* y = &net.conv(name + ".conv1", x, {.channels = channels, .kernel = 1});
  y = &net.relu(name + ".relu1", net.batch_norm(name + ".bn1", *y));
  y = &net.conv(name + ".conv2", *y, {.channels = channels, .kernel = 3, .pad = 1});
  y = &net.relu(name + ".relu2", net.batch_norm(name + ".bn2", *y));
  y = &net.conv(name + ".conv3", *y, {.channels = channels, .kernel = 1});
  y = &net.batch_norm(name + ".bn3", *y);
  if (shortcut) {
    Value& identity = net.conv(name + ".identity", x, {.channels = channels, .kernel = 1, .bias = true});
    y = &net.add(name + ".add", *y, identity);
  }
  return net.relu(name + ".relu", *y);
}

}  // namespace

Graph build_seed_resnet(const ModelRecipe& recipe) {
  Network net(recipe.name, "Bottleneck ResNet whose shortcuts are 1x1 convolutions with bias", recipe.input,
              recipe.seed);
  Value* x = &net.conv("conv1", net.input(), {.channels = kStemChannels, .kernel = 7, .pad = 3});
  x = &net.relu("relu", net.batch_norm("bn1", *x));
  x = &net.max_pool("maxpool", *x, kPool);
  for (std::size_t stage = 0; stage < recipe.stages.size(); ++stage) {
    for (int64_t i = 0; i < recipe.stages[stage]; ++i) {
      x = &block(net, fmt::format("layers{}.{}", stage + 1, i), *x, kStageChannels[stage], !recipe.plain);
    }
    if (stage == 1 || stage == 3) x = &net.max_pool(fmt::format("maxpool{}", stage + 1), *x, kPool);
  }
  x = &net.flatten("flatten", net.global_average_pool("avgpool", *x));
  return net.finish(net.linear("fc", *x, recipe.classes, LinearInit::kKaimingNormal));
}

}  // namespace onward
