#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/pass.h"
#include "tests/support/lock_step.h"

namespace onward::test {

// Writes a forward graph by hand, in normal form with static types.
class Net {
 public:
  explicit Net(DType dtype = DType::kFloat64) : dtype_(dtype) {}

  Value* input(const std::string& name, const Shape& shape) { return &graph.add_input(name, {dtype_, shape}); }
  Value* labels(int64_t rows) { return &graph.add_input("label", {DType::kInt64, {rows}}, Role::kLabel); }
  Value* parameter(const std::string& name, const Shape& shape, const std::vector<double>& values);
  // Uniform in [low, high], from the name.
  Value* parameter(const std::string& name, const Shape& shape, double low = -1, double high = 1);
  Value* constant(const std::string& name, const Shape& shape, const std::vector<double>& values);
  // A node named after its first output.
  Value* op(const char* op, std::vector<Value*> inputs, const std::string& name, Attributes attributes = {});
  // Training form, with its running statistics "<name>.running_mean" (zeros) and "<name>.running_var" (ones).
  Value* batch_norm(Value* x, const std::string& name, const Attributes& attributes = {});
  Value* conv(Value* x, const std::string& name, int64_t channels, int64_t kernel, int64_t stride = 1,
              bool bias = false);
  // sum(per_row) / loss denominator, the output "loss".
  void loss_sum(Value* per_row);
  // Cross entropy of scores and labels, the same way.
  void cross_entropy(Value* scores);

  Graph graph;

 private:
  void output_loss(Value* sum);
  DType dtype_;
};

// What the passes make of a forward graph that has its loss, and what they said.
struct Program {
  Graph graph;
  std::vector<std::string> warnings;
  std::vector<std::string> facts;
};
Program make_program(const Graph& forward, const ProgramOptions& options, const ProgramRequest& request);
// The passes for a training program in their order, from batch-norm mode on.
std::vector<Pass> training_passes();

// Runs the programs of a step in lock step, each replica with its rows of the batch's tensors and the scalars of the
// step. `forward(rows)` is the forward graph for a number of rows.
class Trainer {
 public:
  using Forward = Graph (*)(int64_t rows);
  Trainer(Forward forward, ProgramOptions options, std::vector<int64_t> shares);

  // One update on the given global batch: tensors of rows, by input name. Every replica has the same outputs (checked);
  // they are returned. `micro_batches` cuts every share into so many equal parts.
  NamedTensors step(const NamedTensors& batch, double learning_rate, int micro_batches = 1);

  LockStep replicas;
  const ProgramOptions options;

 private:
  const Graph& program(ProgramMode mode, int64_t rows, int64_t global_rows);

  Forward forward_;
  std::vector<int64_t> shares_;
  std::map<ProgramKey, Graph> programs_;
  int64_t steps_ = 0;
};

// Rows [begin, end) of dimension 0.
HostTensor rows_of(const HostTensor& tensor, int64_t begin, int64_t end);

}  // namespace onward::test
