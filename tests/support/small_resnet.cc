#include "tests/support/small_resnet.h"

#include "tests/support/tensors.h"

namespace onward::test {
namespace {

Value* unit(Net& net, Value* x, const std::string& name, int64_t channels, int64_t kernel, int64_t stride) {
  return net.batch_norm(net.conv(x, name + ".conv", channels, kernel, stride), name + ".bn");
}

Value* block(Net& net, Value* x, const std::string& name, int64_t channels, int64_t stride) {
  Value* y = net.op("Relu", {unit(net, x, name + ".1", channels, 3, stride)}, name + ".1.relu");
  y = unit(net, y, name + ".2", channels, 3, 1);
  Value* shortcut = x;
  if (stride != 1) shortcut = unit(net, x, name + ".shortcut", channels, 1, stride);
  return net.op("Relu", {net.op("Add", {y, shortcut}, name + ".sum")}, name + ".relu");
}

Graph make(int64_t rows, DType dtype) {
  Net net(dtype);
  Value* x = net.input("x", {rows, 3, 6, 6});
  x = net.op("Relu", {unit(net, x, "stem", 4, 3, 1)}, "stem.relu");
  x = block(net, x, "a", 4, 1);
  x = block(net, x, "b", 6, 2);
  x = net.op("Flatten", {net.op("GlobalAveragePool", {x}, "pool")}, "flat", {{"axis", int64_t{1}}});
  net.cross_entropy(
      net.op("Gemm", {x, net.parameter("fc.w", {4, 6}), net.parameter("fc.b", {4})}, "fc", {{"transB", int64_t{1}}}));
  return std::move(net.graph);
}

}  // namespace

Graph small_resnet(int64_t rows) { return make(rows, DType::kFloat64); }
Graph small_resnet_fp32(int64_t rows) { return make(rows, DType::kFloat32); }

NamedTensors small_resnet_batch(int64_t rows, uint64_t seed, DType dtype) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < rows; ++i) labels.push_back((i * 3 + static_cast<int64_t>(seed)) % 4);
  return {{"x", random_tensor(dtype, {rows, 3, 6, 6}, -1, 1, seed)},
          {"label", HostTensor::from<int64_t>({rows}, labels)}};
}

}  // namespace onward::test
