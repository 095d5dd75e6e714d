#pragma once
#include "tests/support/net.h"

namespace onward::test {

// Two residual blocks, the second with a downsampling shortcut, on 3x6x6 images and 4 classes: every form in which
// batch norm, Relu and Add meet. Inputs "x" and "label", output "loss".
Graph small_resnet(int64_t rows);
Graph small_resnet_fp32(int64_t rows);
// A batch for it; another one for another seed.
NamedTensors small_resnet_batch(int64_t rows, uint64_t seed, DType dtype = DType::kFloat64);

}  // namespace onward::test
