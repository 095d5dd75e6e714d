#pragma once
#include "models/build_model.h"

namespace onward {

// One function a family. The recipe is resolved: every number is set, stages are as many as the family has.

// The bottleneck ResNet that this project started from: a 7x7 stem of stride 1, stages of bottleneck blocks of 128,
// 256, 512 and 512 channels whose shortcut is always a 1x1 convolution with bias, 3x3 pooling of stride 2 after the
// stem and after stages 2 and 4.
Graph build_seed_resnet(const ModelRecipe& recipe);

// ResNets for 32x32 images: three stages of basic blocks of 16, 32 and 64 channels, shortcuts of form B (a 1x1
// convolution with BatchNormalization where the shape changes). He et al., "Deep residual learning for image
// recognition", 2015, 4.2.
Graph build_cifar_resnet(const ModelRecipe& recipe);

// resnet18, resnet34 (basic blocks) and resnet50 (bottleneck blocks with the stride in the 3x3 convolution, as
// torchvision has them). He et al. 2015, 4.1.
Graph build_imagenet_resnet(const ModelRecipe& recipe);

// LeNet-5 with Relu and maximum pooling. LeCun et al., "Gradient-based learning applied to document recognition", 1998.
Graph build_lenet(const ModelRecipe& recipe);

}  // namespace onward
