#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/core/program_source.h"
#include "ops/core/registry.h"

namespace onward::test {

// Small ops of the domain "test" for tests of the runtime, beside the program's own. float32.
//   AddOne(x) -> x + 1, channels-last both ways           Rows(x) -> x, row-major both ways
//   Plus(a, b) -> a + b in any layout, in place of a      Twice(x) -> 2 x in any layout, not in place
//   Descend(p, g) -> p - 0.5 g, in place of p             SumRows(x[N,C]) -> [C]
//   View(x) {shape} -> x under another shape              Fail(x) {rank} -> x; throws on the replica `rank`
//   Slow(x) -> x, after 3 ms
const Registry& runtime_registry();

inline OpId runtime_op(const char* name) { return {"test", name}; }

// Adds a node of the domain "test" and infers its types.
Value& add(Graph& graph, const char* name, std::vector<Value*> inputs, const std::string& output,
           Attributes attributes = {});
// onward::AllReduce.
std::vector<Value*> all_reduce(Graph& graph, std::vector<Value*> inputs, const std::vector<std::string>& outputs,
                               int64_t collective);

// A tensor of float32 that counts up from `first`.
HostTensor counting(const Shape& shape, float first = 0);

// Programs made by a function.
class FunctionSource final : public ProgramSource {
 public:
  explicit FunctionSource(std::function<Graph(const ProgramKey&)> make) : make_(std::move(make)) {}
  Graph program(const ProgramKey& key) override { return make_(key); }

 private:
  std::function<Graph(const ProgramKey&)> make_;
};

// A training step of `layers` layers y = relu(x + w_i): forward, gradients of every w_i (sums over rows of stand-ins),
// one all-reduce per `bucket` layers, an update of every w_i. Output "y" and each reduced gradient "g<i>.sum". x is
// [rows, width].
Graph training_graph(int64_t rows, int64_t width, int layers, int bucket);

}  // namespace onward::test
