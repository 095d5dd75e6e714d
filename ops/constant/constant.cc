// Constant: a tensor held by the node. Specialising a graph turns it into a constant value.
#include "ops/constant/constant.h"

#include "graph/error.h"
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {

HostTensor constant_value(const Attributes& attributes) {
  if (attributes.has("value")) return attributes.get_tensor("value");
  if (attributes.has("value_int")) return HostTensor::scalar<int64_t>(attributes.get_int("value_int"));
  if (attributes.has("value_ints")) {
    const auto values = attributes.get_ints("value_ints");
    return HostTensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
  }
  if (attributes.has("value_float"))
    return HostTensor::scalar<float>(static_cast<float>(attributes.get_double("value_float")));
  if (attributes.has("value_floats")) {
    const auto values = attributes.get_floats("value_floats");
    return HostTensor::from<float>({static_cast<int64_t>(values.size())}, values);
  }
  throw Error(ErrorKind::kModel,
              "expected a Constant with one of the attributes value, value_int, value_ints, value_float "
              "and value_floats, found " +
                  (attributes.size() ? to_string(attributes) : "none"));
}

HostTensor constant_value(const Node& node) {
  try {
    return constant_value(node.attributes);
  } catch (Error& error) {
    error.note("in " + node.text());
    throw;
  }
}

namespace {

void infer(InferContext& context) {
  const HostTensor value = constant_value(context.node());
  context.set(0, value.dtype(), value.shape());
}

void distribute(DistributionContext& context) { context.set_all(Distribution::kReplicated); }

std::vector<SampleCase> samples() {
  return {{.name = "integers", .attributes = {{"value_ints", Shape{1, -1}}}},
          {.name = "tensor", .attributes = {{"value", HostTensor::from<int32_t>({2, 2}, {1, 2, 3, 4})}}},
          {.name = "number", .attributes = {{"value_int", int64_t{7}}}}};
}

}  // namespace

void register_constant(Registry& registry) {
  registry.add(OpDef{.id = {"", "Constant"},
                     .versions = {1, 9, 11, 12, 13, 19, 21, 23, 24, 25},
                     .summary = "a tensor held by the node",
                     .inputs = {0, 0},
                     .outputs = {1, 1},
                     .infer = infer,
                     .distribute = distribute,
                     .samples = samples});
}

}  // namespace onward
