#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace onward {

class InferContext;
class GradientContext;
class NormaliseContext;
class DistributionContext;

struct Arity {
  int min = 0;
  int max = 0;  // kVariadic: any number
};
inline constexpr int kVariadic = 1 << 30;

// Output `output` may be written over the memory of input `input`, if that input is not read afterwards.
struct InPlacePair {
  int input;
  int output;
};

// Output `output` is input `input` under another shape: no data moves when both are row-major.
struct ViewPair {
  int input;
  int output;
};

// Output `output` is the next value of the state read as input `input` (running statistics).
struct StatePair {
  int input;
  int output;
};

// What a lower precision may do to the op.
enum class PrecisionClass : uint8_t {
  kCompute,   // faster in bf16: convolution, matrix products
  kFollow,    // takes the type of its inputs: activations, pooling, shape ops
  kAccurate,  // stays in fp32: losses, statistics, reductions, optimizer steps
};

// One input of a sample case. Values are `values` if given, else uniform in [low, high] from a fixed seed.
struct SampleInput {
  Shape shape;
  double low = -1;
  double high = 1;
  DType dtype = DType::kFloat64;  // kFloat64 stands for the type under test
  std::vector<double> values;
  bool exact_type = false;  // dtype means itself even if it is kFloat64: learning rates, statistics, sums
};

// One small case on which the conformance suite runs the op: shape rule against kernel, kernel against finite
// differences through the gradient rule, fast kernels against the plain fp64 one.
struct SampleCase {
  std::string name;
  std::vector<std::optional<SampleInput>> inputs;  // nullopt: absent
  int outputs = 1;
  Attributes attributes;
  std::vector<int> gradients;            // inputs whose gradients are checked by finite differences
  std::vector<int> gradient_outputs{0};  // outputs that the checked scalar depends on
};

// What an op is: a plain record. The form described is the normal form, to which `normalise` brings every opset's form.
struct OpDef {
  OpId id;
  // ONNX: the versions of the op that normalise and infer understand, ascending. Empty for this program's own ops.
  std::vector<int> versions;
  std::string summary;  // one line for `onward ops`
  Arity inputs;
  Arity outputs;

  // Sets the type of every output from static input types. Error(kModel) when they do not fit.
  void (*infer)(InferContext&) = nullptr;
  // Emits the backward nodes. nullptr: no gradient exists, an error if one is needed.
  void (*gradient)(GradientContext&) = nullptr;
  // Rewrites an older or alternative form into the normal one. nullptr: all forms are the normal one.
  void (*normalise)(NormaliseContext&) = nullptr;
  // Distribution of the outputs over replicas. nullptr: pointwise over rows (see DistributionContext::pointwise).
  void (*distribute)(DistributionContext&) = nullptr;
  // Floating-point operations of one run. nullptr: none worth counting.
  double (*flops)(const Node&) = nullptr;
  std::vector<SampleCase> (*samples)() = nullptr;

  std::vector<InPlacePair> in_place;
  // In-place pairs of an op with any number of operands; used instead of `in_place` when set.
  std::vector<InPlacePair> (*in_place_of)(const Node&) = nullptr;
  std::vector<ViewPair> views;
  std::vector<StatePair> states;
  // Inputs that never receive a gradient although they are floating: running statistics, masks; also those of the
  // file's form that the normal form has as attributes: bounds, ratios.
  std::vector<int> no_gradient_inputs;
  bool communicates = false;   // runs a collective: on the communication stream, in one total order
  bool constant_folds = true;  // may run at load time when all inputs are constants
  PrecisionClass precision = PrecisionClass::kFollow;
};

// The in-place pairs of a node: in_place_of(node), or in_place.
std::vector<InPlacePair> in_place_pairs(const OpDef& def, const Node& node);

}  // namespace onward
