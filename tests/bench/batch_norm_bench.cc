// The passes of lowered batch normalization over channels-last fp32 images, in bytes of tensor traffic a second, beside
// a copy of the same image. Buffers rotate through several sets, so that nothing stays in the near caches.
//   batch_norm_bench [--benchmark_filter=...]; environment ONWARD_THREADS, default 2.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>

#include "ops/batch_norm_lowered/batch_norm_lowered.h"
#include "ops/core/copy.h"
#include "ops/core/infer_context.h"
#include "ops/core/layout.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

constexpr int kSets = 6;

int threads() {
  const char* text = std::getenv("ONWARD_THREADS");
  return text ? std::max(1, std::atoi(text)) : 2;
}

HostTensor filled(const TensorType& type) {
  HostTensor tensor(type.dtype, type.shape());
  if (type.dtype == DType::kFloat32) {
    float next = 0.1f;
    for (float& x : tensor.edit_values<float>()) x = next = next > 1.5f ? next - 2.2f : next + 0.37f;
  } else {
    for (double& x : tensor.edit_values<double>()) x = 1000;
  }
  return tensor;
}

// One node with its kernel, and several sets of buffers.
class Pass {
 public:
  Pass(const OpId& op, const std::vector<TensorType>& inputs, std::size_t outputs, const Attributes& attributes) {
    std::vector<Value*> values;
    for (const TensorType& type : inputs) values.push_back(type.dims ? &graph_.add_input("x", type) : nullptr);
    Node& node = graph_.add_node(op, values, std::vector<std::string>(outputs, "y"), attributes);
    infer_node(node, registry());
    KernelSpec spec = kernel_spec(node, threads());
    const KernelDef* def = registry().kernel(spec, Backend::kCpu);
    assign_layouts(*def, Layout::kChannelsLast, spec);
    kernel_ = def->make(spec);
    workspace_ = HostTensor(DType::kUInt8, {static_cast<int64_t>(kernel_->workspace_bytes())});
    for (Set& set : sets_) make_set(node, set);
  }

  void run() {
    Set& set = sets_[next_++ % kSets];
    kernel_->run({.inputs = set.inputs.data(), .outputs = set.outputs.data(), .workspace = workspace_.edit()});
  }

 private:
  struct Set {
    std::vector<HostTensor> tensors;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
  };

  static void make_set(const Node& node, Set& set) {
    for (const Value* value : node.inputs()) {
      set.tensors.push_back(value ? filled(value->type) : HostTensor());
      set.inputs.push_back(set.tensors.back().data());
    }
    for (const Value* value : node.outputs()) {
      set.tensors.push_back(filled(value->type));
      set.outputs.push_back(set.tensors.back().edit());
    }
  }

  Graph graph_;
  std::unique_ptr<Kernel> kernel_;
  HostTensor workspace_;
  Set sets_[kSets];
  std::size_t next_ = 0;
};

// Runs the pass; `images` is how many times it reads or writes an image.
void measure(benchmark::State& state, Pass pass, const Shape& shape, int images) {
  prepare_compute_thread(threads());
  pass.run();
  for (auto _ : state) pass.run();
  state.SetBytesProcessed(state.iterations() * element_count(shape) * 4 * images);
}

const TensorType kAbsent;

Shape shape_of(const benchmark::State& state) {
  return {state.range(0), state.range(1), state.range(2), state.range(3)};
}

void copy(benchmark::State& state) {
  prepare_compute_thread(threads());
  const TensorType type(DType::kFloat32, shape_of(state));
  std::vector<HostTensor> from, to;
  for (int i = 0; i < kSets; ++i) from.push_back(filled(type)), to.push_back(filled(type));
  std::size_t next = 0;
  for (auto _ : state) {
    const std::size_t i = next++ % kSets;
    parallel_copy(from[i].data(), to[i].edit(), from[i].bytes());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(from[0].bytes()) * 2);
}

void statistics(benchmark::State& state) {
  const Shape shape = shape_of(state);
  measure(state, Pass(kBatchNormStatistics, {{DType::kFloat32, shape}}, 1, {}), shape, 1);
}

void apply(benchmark::State& state, bool residual, bool relu) {
  const Shape shape = shape_of(state);
  const TensorType image(DType::kFloat32, shape), vector(DType::kFloat32, Shape{shape[1]});
  std::vector<TensorType> inputs{image, vector, vector, vector, vector};
  if (residual) inputs.push_back(image);
  measure(state, Pass(kBatchNormApply, inputs, 1, {{"relu", int64_t{relu}}}), shape, residual ? 3 : 2);
}

void grad_reduce(benchmark::State& state, const std::string& mask, bool keep) {
  const Shape shape = shape_of(state);
  const TensorType image(DType::kFloat32, shape), vector(DType::kFloat32, Shape{shape[1]});
  const bool reads_y = mask == "y";
  measure(state,
          Pass(kBatchNormGradReduce, {image, image, vector, vector, vector, vector, reads_y ? image : kAbsent},
               keep ? 2 : 1, {{"mask", mask}}),
          shape, 2 + reads_y + keep);
}

void grad_apply(benchmark::State& state, const std::string& mask) {
  const Shape shape = shape_of(state);
  const TensorType image(DType::kFloat32, shape), vector(DType::kFloat32, Shape{shape[1]});
  measure(state,
          Pass(kBatchNormGradApply,
               {image,
                image,
                vector,
                vector,
                vector,
                {DType::kFloat64, Shape{2 * shape[1]}},
                {DType::kFloat64, Shape{}},
                vector},
               1, {{"mask", mask}}),
          shape, 3);
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"N", "C", "H", "W"})->UseRealTime()->Unit(benchmark::kMillisecond);
  benchmark->Args({64, 256, 16, 16})->Args({64, 512, 8, 8})->Args({128, 16, 32, 32})->Args({128, 64, 8, 8});
}

BENCHMARK(copy)->Apply(shapes);
BENCHMARK(statistics)->Apply(shapes);
BENCHMARK_CAPTURE(apply, relu, false, true)->Apply(shapes);
BENCHMARK_CAPTURE(apply, residual_relu, true, true)->Apply(shapes);
BENCHMARK_CAPTURE(grad_reduce, recompute, "recompute", false)->Apply(shapes);
BENCHMARK_CAPTURE(grad_reduce, y_keep, "y", true)->Apply(shapes);
BENCHMARK_CAPTURE(grad_apply, none, "none")->Apply(shapes);
BENCHMARK_CAPTURE(grad_apply, recompute, "recompute")->Apply(shapes);

}  // namespace
}  // namespace onward
