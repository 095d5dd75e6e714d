#include <fmt/format.h>

#include "models/builders.h"
#include "models/residual_blocks.h"

namespace onward {

Graph build_cifar_resnet(const ModelRecipe& recipe) {
  Network net(recipe.name, "ResNet for 32x32 images with shortcuts of form B, He et al. 2015", recipe.input,
              recipe.seed);
  int64_t channels = 16;
  Value* x = &net.conv("conv1", net.input(), {.channels = channels, .kernel = 3, .pad = 1});
  x = &net.relu("relu", net.batch_norm("bn1", *x));
  for (std::size_t stage = 0; stage < recipe.stages.size(); ++stage, channels *= 2) {
    for (int64_t i = 0; i < recipe.stages[stage]; ++i) {
      x = &basic_block(net, fmt::format("layer{}.{}", stage + 1, i), *x,
                       {.channels = channels, .stride = stage > 0 && i == 0 ? 2 : 1, .shortcut = !recipe.plain});
    }
  }
  x = &net.flatten("flatten", net.global_average_pool("avgpool", *x));
  return net.finish(net.linear("fc", *x, recipe.classes));
}

}  // namespace onward
