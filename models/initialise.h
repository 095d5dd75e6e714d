#pragma once
#include <cstdint>

#include "graph/tensor.h"

namespace onward {

// Initial weights as a function of (seed, place of the parameter in the model, element).
class Initialiser {
 public:
  explicit Initialiser(uint64_t seed) : seed_(seed) {}

  // Normal with variance 2 / fan_in: keeps the variance of activations through Relu layers. He et al., "Delving deep
  // into rectifiers", 2015; torch.nn.init.kaiming_normal_. fan_in is the product of all dimensions but the first.
  HostTensor kaiming_normal(const Shape& shape);
  // Uniform in +-1/sqrt(fan_in): PyTorch's default for the weights and biases of linear layers and for biases of
  // convolutions.
  HostTensor uniform(const Shape& shape, int64_t fan_in);
  static HostTensor constant(int64_t count, float value);

 private:
  uint64_t seed_;
  uint64_t next_site_ = 0;
};

}  // namespace onward
