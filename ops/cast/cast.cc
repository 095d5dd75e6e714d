// Cast: the same numbers in another type. Floats become integers by truncation towards zero and saturate; anything that
// is not 0 becomes true.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "graph/error.h"
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt64,
                            DType::kInt32,   DType::kInt16,   DType::kInt8,    DType::kUInt8,    DType::kBool};

bool is_supported(DType dtype) { return std::find(std::begin(kTypes), std::end(kTypes), dtype) != std::end(kTypes); }

DType target(const Attributes& attributes) { return static_cast<DType>(attributes.get_int("to")); }

void infer(InferContext& context) {
  const DType to = target(context.attributes());
  for (const DType dtype : {context.dtype(0), to}) {
    context.require(is_supported(dtype), "a float, integer or bool type", dtype_name(dtype));
  }
  context.set(0, to, context.shape(0));
}

// Opset 1 writes the type as text: "FLOAT". Opset 19 adds `saturate` and 24 `round_mode`, both about 8-bit floats only.
void normalise(NormaliseContext& context) {
  Attributes& attributes = context.node().attributes;
  attributes.erase("saturate");
  attributes.erase("round_mode");
  if (context.opset() >= 6) return;
  const std::string name = attributes.get_string("to");
  static const std::map<std::string, DType> kNames{
      {"FLOAT", DType::kFloat32}, {"DOUBLE", DType::kFloat64}, {"FLOAT16", DType::kFloat16},
      {"INT64", DType::kInt64},   {"INT32", DType::kInt32},    {"INT16", DType::kInt16},
      {"INT8", DType::kInt8},     {"UINT8", DType::kUInt8},    {"BOOL", DType::kBool}};
  const auto found = kNames.find(name);
  if (found == kNames.end()) {
    throw Error(ErrorKind::kModel, fmt::format("expected the name of an element type in `to`, found '{}'", name));
  }
  attributes.set("to", static_cast<int64_t>(found->second));
}

void gradient(GradientContext& context) {
  const DType from = context.x(0)->type.dtype;
  if (!is_floating(from) || !is_floating(context.y(0)->type.dtype)) return;
  context.set_dx(0, context.emit("Cast", {context.dy(0)}, {{"to", static_cast<int64_t>(from)}}));
}

// Rounding a partial float to an integer would not be linear.
void distribute(DistributionContext& context) {
  const bool to_integer =
      is_floating(context.node().input(0)->type.dtype) && !is_floating(target(context.node().attributes));
  context.pointwise(!to_integer && target(context.node().attributes) != DType::kBool);
}

SampleCase to_type(const char* name, DType from, DType to) {
  SampleCase sample{.name = name,
                    .inputs = {SampleInput{.shape = {3, 5}, .low = -4, .high = 4, .dtype = from}},
                    .attributes = {{"to", static_cast<int64_t>(to)}}};
  if (is_floating(from) && to == DType::kFloat64) sample.gradients = {0};
  return sample;
}

std::vector<SampleCase> samples() {
  return {
      to_type("to float64", DType::kFloat64, DType::kFloat64), to_type("to float32", DType::kFloat64, DType::kFloat32),
      to_type("to int64", DType::kFloat64, DType::kInt64),     to_type("to bool", DType::kFloat64, DType::kBool),
      to_type("from int64", DType::kInt64, DType::kFloat32),   to_type("from int32", DType::kInt32, DType::kInt64)};
}

}  // namespace

void register_cast(Registry& registry) {
  registry.add(OpDef{.id = {"", "Cast"},
                     .versions = {1, 6, 9, 13, 19, 21, 23, 24, 25},
                     .summary = "another element type",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .normalise = normalise,
                     .distribute = distribute,
                     .samples = samples});
}

}  // namespace onward
