#include "tests/support/runtime_ops.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "graph/error.h"
#include "ops/core/infer_context.h"

namespace onward::test {

namespace {

void infer_first(InferContext& context) { context.set(0, context.dtype(0), context.shape(0)); }
void infer_view(InferContext& context) { context.set(0, context.dtype(0), context.attributes().get_ints("shape")); }
void infer_sum_rows(InferContext& context) { context.set(0, context.dtype(0), {context.shape(0)[1]}); }

void fail(const KernelSpec& spec, const KernelContext& context) {
  if (spec.attributes.get_int("rank") == spec.rank) throw Error(ErrorKind::kRun, "the value is not what it should be");
  std::memcpy(context.outputs[0], context.inputs[0], spec.outputs[0].bytes());
}

void slow(const KernelSpec& spec, const KernelContext& context) {
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  std::memcpy(context.outputs[0], context.inputs[0], spec.outputs[0].bytes());
}

template <float (*kFunction)(float, float)>
void pointwise(const KernelSpec& spec, const KernelContext& context) {
  const float* a = context.in<float>(0);
  const float* b = spec.inputs.size() > 1 ? context.in<float>(1) : a;
  for (int64_t i = 0; i < spec.outputs[0].count(); ++i) context.out<float>(0)[i] = kFunction(a[i], b[i]);
}

float add_one(float a, float) { return a + 1; }
float same(float a, float) { return a; }
float plus(float a, float b) { return a + b; }
float twice(float a, float) { return 2 * a; }
float descend(float p, float g) { return p - 0.5f * g; }

void sum_rows(const KernelSpec& spec, const KernelContext& context) {
  const Shape& shape = spec.inputs[0].shape;
  for (int64_t c = 0; c < shape[1]; ++c) {
    float total = 0;
    for (int64_t n = 0; n < shape[0]; ++n) total += context.in<float>(0)[n * shape[1] + c];
    context.out<float>(0)[c] = total;
  }
}

template <KernelFunction kRun>
void add_kernel(Registry& registry, const char* name, OperandLayout layout) {
  registry.add(KernelDef{.op = runtime_op(name),
                         .input_layouts = {layout},
                         .output_layouts = {layout},
                         .make = make_function_kernel<kRun>});
}

Registry make_registry() {
  Registry registry;
  register_all(registry);
  registry.add(OpDef{.id = runtime_op("Fail"), .infer = infer_first});
  add_kernel<fail>(registry, "Fail", OperandLayout::kSame);
  registry.add(OpDef{.id = runtime_op("Slow"), .infer = infer_first});
  add_kernel<slow>(registry, "Slow", OperandLayout::kSame);
  registry.add(OpDef{.id = runtime_op("AddOne"), .infer = infer_first});
  add_kernel<pointwise<add_one>>(registry, "AddOne", OperandLayout::kChannelsLast);
  registry.add(OpDef{.id = runtime_op("Rows"), .infer = infer_first});
  add_kernel<pointwise<same>>(registry, "Rows", OperandLayout::kRowMajor);
  registry.add(OpDef{.id = runtime_op("Plus"), .infer = infer_first, .in_place = {{0, 0}}});
  add_kernel<pointwise<plus>>(registry, "Plus", OperandLayout::kSame);
  registry.add(OpDef{.id = runtime_op("Twice"), .infer = infer_first});
  add_kernel<pointwise<twice>>(registry, "Twice", OperandLayout::kSame);
  registry.add(OpDef{.id = runtime_op("Descend"), .infer = infer_first, .in_place = {{0, 0}}});
  add_kernel<pointwise<descend>>(registry, "Descend", OperandLayout::kRowMajor);
  registry.add(OpDef{.id = runtime_op("View"), .infer = infer_view, .views = {{0, 0}}});
  registry.add(OpDef{.id = runtime_op("SumRows"), .infer = infer_sum_rows});
  add_kernel<sum_rows>(registry, "SumRows", OperandLayout::kRowMajor);
  registry.add(OpDef{.id = runtime_op("NoKernel"), .infer = infer_first});
  return registry;
}

}  // namespace

const Registry& runtime_registry() {
  static const Registry instance = make_registry();
  return instance;
}

namespace {

std::vector<Value*> add_op(Graph& graph, const OpId& id, std::vector<Value*> inputs,
                           const std::vector<std::string>& outputs, Attributes attributes) {
  Node& node = graph.add_node(id, std::move(inputs), outputs, std::move(attributes));
  infer_node(node, runtime_registry());
  return node.outputs();
}

}  // namespace

Value& add(Graph& graph, const char* name, std::vector<Value*> inputs, const std::string& output,
           Attributes attributes) {
  return *add_op(graph, runtime_op(name), std::move(inputs), {output}, std::move(attributes))[0];
}

std::vector<Value*> all_reduce(Graph& graph, std::vector<Value*> inputs, const std::vector<std::string>& outputs,
                               int64_t collective) {
  return add_op(graph, {kOnwardDomain, "AllReduce"}, std::move(inputs), outputs, {{"collective", collective}});
}

HostTensor counting(const Shape& shape, float first) {
  HostTensor tensor(DType::kFloat32, shape);
  for (float& value : tensor.edit_values<float>()) value = first++;
  return tensor;
}

Graph training_graph(int64_t rows, int64_t width, int layers, int bucket) {
  Graph graph;
  graph.name = "training";
  const Shape shape{rows, width};
  Value* x = &graph.add_input("x", {DType::kFloat32, shape});
  std::vector<Value*> weights, activations, gradients;
  for (int i = 0; i < layers; ++i) {
    weights.push_back(
        &graph.add_data(fmt::format("w{}", i), counting({width}, static_cast<float>(i)), Role::kParameter));
    x = &add(graph, "Twice", {x}, fmt::format("x{}", i));
    activations.push_back(x);
  }
  graph.add_output(*x);
  Value* dy = x;
  int collective = 0;
  for (int i = layers - 1; i >= 0; --i) {
    dy = &add(graph, "Plus", {dy, activations[static_cast<std::size_t>(i)]}, fmt::format("dx{}", i));
    gradients.insert(gradients.begin(), &add(graph, "SumRows", {dy}, fmt::format("g{}", i)));
    if ((layers - i) % bucket != 0 && i != 0) continue;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < gradients.size(); ++k) names.push_back(fmt::format("g{}.sum", i + static_cast<int>(k)));
    const auto sums = all_reduce(graph, gradients, names, collective++);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      Value* weight = weights[static_cast<std::size_t>(i) + k];
      graph.add_update(*weight, add(graph, "Descend", {weight, sums[k]}, weight->name() + ".next"));
    }
    gradients.clear();
  }
  return graph;
}

}  // namespace onward::test
