#include "models/network.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace onward {
namespace {

constexpr int64_t kOpset = 17;

TensorType batch_of(const Shape& row) {
  TensorType type(DType::kFloat32, row);
  type.dims->insert(type.dims->begin(), Dim(std::string("N")));
  return type;
}

int64_t windows(const std::string& name, int64_t size, int64_t kernel, int64_t stride, int64_t pad) {
  if (size + 2 * pad < kernel) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format(
            "the layer {} takes windows of {}x{} pixels but gets images whose side is {}; give a larger --input", name,
            kernel, kernel, size));
  }
  return (size + 2 * pad - kernel) / stride + 1;
}

Shape window_output(const std::string& name, const Shape& row, int64_t channels, int64_t kernel, int64_t stride,
                    int64_t pad) {
  return {channels, windows(name, row[1], kernel, stride, pad), windows(name, row[2], kernel, stride, pad)};
}

Attributes window_attributes(int64_t kernel, int64_t stride, int64_t pad) {
  using Ints = std::vector<int64_t>;
  return {
      {"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}};
}

}  // namespace

Shape row_shape(const Value& value) {
  Shape row;
  for (std::size_t i = 1; i < value.type.dims->size(); ++i) row.push_back((*value.type.dims)[i].value);
  return row;
}

Network::Network(const std::string& name, const std::string& doc, const Shape& input, uint64_t seed)
    : initialiser_(seed) {
  graph_.name = name;
  graph_.doc = doc;
  graph_.opsets[""] = kOpset;
  graph_.add_input("input", batch_of(input));
}

Value& Network::parameter(const std::string& layer, const std::string& name, HostTensor data) {
  return graph_.add_data(layer + "." + name, std::move(data));
}

Value& Network::layer(const char* op, const std::string& name, std::vector<Value*> inputs, const Shape& row,
                      const std::string& doc, Attributes attributes) {
  Node& node = graph_.add_node({"", op}, std::move(inputs), {name}, std::move(attributes));
  node.name = name;
  node.doc = doc;
  node.output(0)->type = batch_of(row);
  return *node.output(0);
}

Value& Network::conv(const std::string& name, Value& x, const ConvOptions& options) {
  const Shape row = row_shape(x);
  const auto [channels, kernel, stride, pad, bias] = options;
  std::vector<Value*> inputs{&x};
  inputs.push_back(&parameter(name, "weight", initialiser_.kaiming_normal({channels, row[0], kernel, kernel})));
  if (bias) inputs.push_back(&parameter(name, "bias", initialiser_.uniform({channels}, row[0] * kernel * kernel)));
  return layer("Conv", name, std::move(inputs), window_output(name, row, channels, kernel, stride, pad),
               fmt::format("{}x{} convolution, stride {}, {} -> {} channels", kernel, kernel, stride, row[0], channels),
               window_attributes(kernel, stride, pad));
}

// Inference form. ONNX's momentum is the share of the old running value: PyTorch's 0.1 is 0.9 here.
Value& Network::batch_norm(const std::string& name, Value& x) {
  const Shape row = row_shape(x);
  std::vector<Value*> inputs{&x};
  inputs.push_back(&parameter(name, "weight", Initialiser::constant(row[0], 1)));
  inputs.push_back(&parameter(name, "bias", Initialiser::constant(row[0], 0)));
  inputs.push_back(&parameter(name, "running_mean", Initialiser::constant(row[0], 0)));
  inputs.push_back(&parameter(name, "running_var", Initialiser::constant(row[0], 1)));
  return layer("BatchNormalization", name, std::move(inputs), row, fmt::format("normalises {} channels", row[0]),
               {{"epsilon", 1e-5f}, {"momentum", 0.9f}, {"training_mode", int64_t{0}}});
}

Value& Network::relu(const std::string& name, Value& x) { return layer("Relu", name, {&x}, row_shape(x), ""); }

Value& Network::max_pool(const std::string& name, Value& x, const PoolOptions& options) {
  const auto [kernel, stride, pad] = options;
  const Shape row = row_shape(x);
  return layer("MaxPool", name, {&x}, window_output(name, row, row[0], kernel, stride, pad),
               fmt::format("maximum over {}x{}, stride {}", kernel, kernel, stride),
               window_attributes(kernel, stride, pad));
}

Value& Network::global_average_pool(const std::string& name, Value& x) {
  const Shape row = row_shape(x);
  return layer("GlobalAveragePool", name, {&x}, {row[0], 1, 1}, fmt::format("mean over {}x{}", row[1], row[2]));
}

Value& Network::flatten(const std::string& name, Value& x) {
  return layer("Flatten", name, {&x}, {element_count(row_shape(x))}, "", {{"axis", int64_t{1}}});
}

Value& Network::linear(const std::string& name, Value& x, int64_t outputs, LinearInit init) {
  const int64_t features = row_shape(x)[0];
  const Shape shape{outputs, features};
  Value& weight = parameter(
      name, "weight",
      init == LinearInit::kKaimingNormal ? initialiser_.kaiming_normal(shape) : initialiser_.uniform(shape, features));
  Value& bias = parameter(name, "bias", initialiser_.uniform({outputs}, features));
  return layer("Gemm", name, {&x, &weight, &bias}, {outputs},
               fmt::format("linear, {} -> {} features", features, outputs), {{"transB", int64_t{1}}});
}

Value& Network::add(const std::string& name, Value& a, Value& b) {
  return layer("Add", name, {&a, &b}, row_shape(a), "");
}

Graph Network::finish(Value& logits) {
  graph_.rename(logits, "logits");
  graph_.add_output(logits);
  return std::move(graph_);
}

}  // namespace onward
