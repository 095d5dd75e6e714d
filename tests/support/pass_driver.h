#pragma once
#include <string>

#include "passes/pass.h"

namespace onward::test {

// Runs passes on a graph with a context of its own, which stays for inspection.
class PassDriver {
 public:
  explicit PassDriver(ProgramOptions options = {}, ProgramRequest request = {})
      : options_(std::move(options)), context_{.options = options_, .request = request, .registry = registry()} {}

  PassContext& context() { return context_; }
  void run(Graph& graph, const std::vector<Pass>& passes) { run_passes(graph, passes, context_); }
  void run(Graph& graph, const Pass& pass) { run(graph, std::vector<Pass>{pass}); }
  // The preparation and `passes`.
  void prepare_and_run(Graph& graph, const std::vector<Pass>& passes = {}) {
    run(graph, preparation_pipeline(options_));
    run(graph, passes);
  }

 private:
  ProgramOptions options_;
  PassContext context_;
};

// "Conv Relu Add": the ops in order.
inline std::string ops_of(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) text += (text.empty() ? "" : " ") + to_string(node->op());
  return text;
}

// A float input [dims...] as a file declares it: "N" or "3".
inline Value& add_image_input(Graph& graph, const std::string& name, const std::vector<Dim>& dims,
                              DType dtype = DType::kFloat32) {
  TensorType type;
  type.dtype = dtype;
  type.dims = dims;
  return graph.add_input(name, type);
}

}  // namespace onward::test
