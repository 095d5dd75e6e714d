#include "passes/initialise.h"

#include <fmt/format.h>

#include <cmath>

#include "graph/random.h"
#include "ops/core/parallel.h"

namespace onward {
namespace {

// FNV-1a: the same number on every machine, unlike std::hash.
uint64_t hash_name(const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

class Initialiser {
 public:
  Initialiser(Graph& graph, uint64_t seed) : graph_(graph), seed_(seed) {}

  int run() {
    for (const auto& node : graph_.nodes()) {
      if (node->is("Conv")) weights(*node, conv_fan_in(*node));
      if (node->is("Gemm")) weights(*node, gemm_fan_in(*node));
      if (node->is("MatMul")) matmul(*node);
      if (node->is("BatchNormalization")) batch_norm(*node);
    }
    return changed_;
  }

 private:
  static int64_t conv_fan_in(const Node& node) {
    const Shape& shape = node.input(1)->data.shape();
    return shape.empty() ? 0 : element_count({shape.begin() + 1, shape.end()});
  }

  // The stored weight behind an input, looking through Transpose; `transposed` says whether its last two axes change
  // places.
  static Value* stored(Value* value, bool& transposed) {
    transposed = false;
    while (value && value->producer() && value->producer()->is("Transpose")) {
      transposed = !transposed;
      value = value->producer()->input(0);
    }
    return value;
  }

  static int64_t matrix_fan_in(const Value* weight, bool transposed) {
    const Shape& shape = weight->data.shape();
    if (shape.size() < 2) return 0;
    return transposed ? shape.back() : shape[shape.size() - 2];
  }

  static int64_t gemm_fan_in(const Node& node) {
    bool transposed = false;
    const Value* weight = stored(node.input(1), transposed);
    return weight ? matrix_fan_in(weight, transposed != (node.attributes.get_int("transB", 0) != 0)) : 0;
  }

  void weights(const Node& node, int64_t fan_in) {
    bool transposed = false;
    if (fan_in <= 0) return;
    normal(stored(node.input(1), transposed), std::sqrt(2.0 / static_cast<double>(fan_in)));
    uniform(node.input(2), 1.0 / std::sqrt(static_cast<double>(fan_in)));
  }

  void matmul(const Node& node) {
    bool transposed = false;
    Value* weight = stored(node.input(1), transposed);
    const int64_t fan_in = weight ? matrix_fan_in(weight, transposed) : 0;
    if (fan_in <= 0) return;
    normal(weight, std::sqrt(2.0 / static_cast<double>(fan_in)));
    for (const Use& use : node.output(0)->uses()) {
      if (!use.node->is("Add")) continue;
      Value* bias = use.node->input(use.index == 0 ? 1 : 0);
      if (bias && bias->data.shape().size() == 1) uniform(bias, 1.0 / std::sqrt(static_cast<double>(fan_in)));
    }
  }

  void batch_norm(const Node& node) {
    fill(node.input(1), 1);
    fill(node.input(2), 0);
    fill(node.input(3), 0);
    fill(node.input(4), 1);
  }

  void normal(Value* value, double deviation) {
    generate(value, [deviation](const RandomStream& stream, uint64_t i) { return deviation * stream.normal(0, i); });
  }

  void uniform(Value* value, double bound) {
    generate(value, [bound](const RandomStream& stream, uint64_t i) { return bound * (2 * stream.uniform(0, i) - 1); });
  }

  void fill(Value* value, double number) {
    generate(value, [number](const RandomStream&, uint64_t) { return number; });
  }

  template <typename Number>
  void generate(Value* value, Number number) {
    if (!value || (value->role != Role::kParameter && value->role != Role::kState)) return;
    HostTensor data(DType::kFloat64, value->data.shape());
    double* elements = data.edit_values<double>().data();
    const RandomStream stream(seed_, RandomPurpose::kInitialise, hash_name(value->name()));
    parallel_for(data.count(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) elements[i] = number(stream, static_cast<uint64_t>(i));
    });
    value->data = data.cast(value->type.dtype);
    ++changed_;
  }

  Graph& graph_;
  uint64_t seed_;
  int changed_ = 0;
};

void initialise(Graph& graph, PassContext& context) {
  const int changed = Initialiser(graph, context.options.seed).run();
  context.facts.push_back(fmt::format("initial values: {} tensors by kaiming, seed {}", changed, context.options.seed));
}

}  // namespace

Pass initialise_pass() { return {.name = "initialise", .run = initialise, .requires_ = {"roles"}}; }

}  // namespace onward
