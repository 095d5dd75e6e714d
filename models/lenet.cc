#include "models/builders.h"
#include "models/network.h"

namespace onward {

Graph build_lenet(const ModelRecipe& recipe) {
  Network net(recipe.name, "LeNet-5 with Relu and maximum pooling", recipe.input, recipe.seed);
  Value* x = &net.conv("conv1", net.input(), {.channels = 6, .kernel = 5, .pad = 2, .bias = true});
  x = &net.max_pool("pool1", net.relu("relu1", *x), {});
  x = &net.conv("conv2", *x, {.channels = 16, .kernel = 5, .bias = true});
  x = &net.flatten("flatten", net.max_pool("pool2", net.relu("relu2", *x), {}));
  x = &net.relu("relu3", net.linear("fc1", *x, 120));
  x = &net.relu("relu4", net.linear("fc2", *x, 84));
  return net.finish(net.linear("fc3", *x, recipe.classes));
}

}  // namespace onward
