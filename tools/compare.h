#pragma once
#include <string>

#include "graph/tensor.h"

namespace onward::cli {

// How far numbers may differ: |found - expected| <= absolute + relative * |expected|, NumPy's assert_allclose. The
// defaults are those of ONNX's own tests. Integers and truth values must be equal.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

// "" if `found` is `expected`; else what differs: the type, the shape, or the elements (how many, and the worst of
// them). NaN equals NaN; infinities must be equal.
std::string difference(const HostTensor& found, const HostTensor& expected, const Tolerance& tolerance);

}  // namespace onward::cli
