#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/model.h"

namespace onward {

// The first layers of resnet18, resnet34 and resnet50.
enum class Stem : uint8_t {
  kImageNet,  // 7x7 convolution of stride 2, 3x3 pooling of stride 2
  kCifar,     // 3x3 convolution of stride 1
};

// Which model to build. Zero and empty mean: as the model's authors have it.
struct ModelRecipe {
  std::string name;  // one of model_names()
  int64_t classes = 0;
  Shape input;                  // C, H, W
  std::vector<int64_t> stages;  // blocks of each stage of a ResNet
  bool plain = false;           // a ResNet's layers without its shortcuts
  Stem stem = Stem::kImageNet;
  uint64_t seed = 0;  // of the initial weights
};

std::vector<std::string> model_names();

// The model with initial weights, opset 17: "input" float32[N,C,H,W] -> "logits" float32[N,classes]. Parameters are
// named as PyTorch names them; BatchNormalization is in inference form. The recipe, resolved, is in the metadata.
// Error(kUsage): an unknown name, an option that the model does not have, an input that is too small.
Model build_model(const ModelRecipe& recipe);

}  // namespace onward
