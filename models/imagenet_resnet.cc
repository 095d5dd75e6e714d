#include <fmt/format.h>

#include "models/builders.h"
#include "models/residual_blocks.h"

namespace onward {
namespace {

constexpr int64_t kStemChannels = 64;

Value& stem(Network& net, Stem kind) {
  const bool large = kind == Stem::kImageNet;
  Value& x = large ? net.conv("conv1", net.input(), {.channels = kStemChannels, .kernel = 7, .stride = 2, .pad = 3})
                   : net.conv("conv1", net.input(), {.channels = kStemChannels, .kernel = 3, .pad = 1});
  Value& y = net.relu("relu", net.batch_norm("bn1", x));
  return large ? net.max_pool("maxpool", y, {.kernel = 3, .stride = 2, .pad = 1}) : y;
}

}  // namespace

Graph build_imagenet_resnet(const ModelRecipe& recipe) {
  Network net(recipe.name, "ResNet, He et al. 2015, as torchvision has it", recipe.input, recipe.seed);
  const auto block = recipe.name == "resnet50" ? bottleneck_block : basic_block;
  Value* x = &stem(net, recipe.stem);
  int64_t channels = kStemChannels;
  for (std::size_t stage = 0; stage < recipe.stages.size(); ++stage, channels *= 2) {
    for (int64_t i = 0; i < recipe.stages[stage]; ++i) {
      x = &block(net, fmt::format("layer{}.{}", stage + 1, i), *x,
                 {.channels = channels, .stride = stage > 0 && i == 0 ? 2 : 1, .shortcut = !recipe.plain});
    }
  }
  x = &net.flatten("flatten", net.global_average_pool("avgpool", *x));
  return net.finish(net.linear("fc", *x, recipe.classes));
}

}  // namespace onward
