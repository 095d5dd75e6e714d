#pragma once
#include "passes/pass.h"

namespace onward {

// --init kaiming: gives the parameters new initial values. Weights of Conv, Gemm and MatMul are normal with variance 2
// / fan_in (K. He, X. Zhang, S. Ren, J. Sun, "Delving deep into rectifiers", 2015); their biases are uniform in +-1 /
// sqrt(fan_in); BatchNormalization starts at scale 1, bias 0, mean 0, variance 1. Other parameters keep their values. A
// number depends on the seed, the parameter's name and the element's index only.
Pass initialise_pass();

}  // namespace onward
