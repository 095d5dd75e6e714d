// Random programs: what streams, events, layouts, views, in-place outputs and reused memory make of them must be, bit
// for bit, what running the nodes one by one on memory of their own gives.
#include <fmt/format.h>

#include <map>
#include <random>

#include "ops/core/host_run.h"
#include "runtime/executor.h"
#include "runtime/local_communicator.h"
#include "tests/support/runtime_ops.h"
#include "tests/support/tensors.h"

namespace onward::test {
namespace {

const Shape kImage{2, 3, 2, 2};
const Shape kFlat{2, 12};

class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : random_(seed) {
    images_.push_back(&graph_.add_input("x", {DType::kFloat32, kImage}));
    for (int i = 0; i < 3; ++i) {
      states_.push_back(&graph_.add_data(fmt::format("s{}", i), values(kImage, i), Role::kState));
      images_.push_back(states_.back());
    }
    images_.push_back(&graph_.add_data("constant", values(kImage, 9)));
    for (int i = 0; i < 40; ++i) add_node(fmt::format("v{}", i));
    for (Value* state : states_) {
      if (pick(4) > 0) graph_.add_update(*state, *any(images_));
    }
    for (int i = 0; i < 3; ++i) add_output(any(pick(2) ? images_ : flats_.empty() ? images_ : flats_));
  }

  const Graph& graph() const { return graph_; }

  static HostTensor values(const Shape& shape, int salt) {
    HostTensor tensor(DType::kFloat32, shape);
    int i = salt * 31;
    for (float& value : tensor.edit_values<float>()) value = static_cast<float>(i++ % 17) / 7.0f - 1.0f;
    return tensor;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  Value* any(const std::vector<Value*>& list) {
    return list[static_cast<std::size_t>(pick(static_cast<int>(list.size())))];
  }

  void add_output(Value* value) {
    if (!graph_.is_output(*value)) graph_.add_output(*value);
  }

  void add_node(const std::string& name) {
    const bool flat = !flats_.empty() && pick(3) == 0;
    std::vector<Value*>& list = flat ? flats_ : images_;
    std::vector<Value*>& other = flat ? images_ : flats_;
    switch (pick(8)) {
      case 0: list.push_back(&add(graph_, flat ? "Twice" : "AddOne", {any(list)}, name)); break;
      case 1: list.push_back(&add(graph_, "Rows", {any(list)}, name)); break;
      case 2: list.push_back(&add(graph_, "Descend", {any(list), any(list)}, name)); break;
      case 3: other.push_back(&add(graph_, "View", {any(list)}, name, {{"shape", flat ? kImage : kFlat}})); break;
      case 4: list.push_back(&add(graph_, "View", {any(list)}, name, {{"shape", flat ? kFlat : kImage}})); break;
      case 5: add_collective(name); break;
      default: list.push_back(&add(graph_, "Plus", {any(list), any(list)}, name)); break;
    }
  }

  void add_collective(const std::string& name) {
    std::vector<Value*> inputs;
    std::vector<std::string> names;
    for (int i = 0, count = 1 + pick(3); i < count; ++i) {
      inputs.push_back(any(images_));
      names.push_back(fmt::format("{}.{}", name, i));
    }
    for (Value* sum : all_reduce(graph_, inputs, names, collective_++)) images_.push_back(sum);
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<Value*> images_, flats_, states_;
  int64_t collective_ = 0;
};

// One step by the book: outputs, and the new values of the states in `states`.
StepOutputs run_by_the_book(const Graph& graph, const HostTensor& x, std::map<std::string, HostTensor>& states) {
  std::map<const Value*, HostTensor> values;
  for (const Value* value : graph.value_list()) {
    if (value->role == Role::kConstant) values[value] = value->data;
    if (value->role == Role::kState) values[value] = states.at(value->name());
  }
  values[graph.inputs()[0]] = x;
  for (const auto& node : graph.nodes()) {
    std::vector<HostTensor> inputs;
    for (const Value* input : node->inputs()) inputs.push_back(values.at(input));
    const std::vector<HostTensor> outputs =
        node->op().name == "View" ? std::vector<HostTensor>{reshaped(inputs[0], node->output(0)->type.shape())}
                                  : run_node_on_host(*node, inputs, runtime_registry());
    for (std::size_t i = 0; i < outputs.size(); ++i) values[node->output(i)] = outputs[i];
  }
  StepOutputs results;
  for (const Value* output : graph.outputs()) results[output->name()] = values.at(output);
  for (const StateUpdate& update : graph.updates()) states[update.state->name()] = values.at(update.updated);
  return results;
}

TEST(PlanFuzz, RandomProgramsGiveWhatTheirNodesGiveOneByOne) {
  constexpr ProgramKey kKey{ProgramMode::kTrain, 2};
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const RandomProgram program(seed);
    const auto members = make_local_communicators(1);
    Executor executor(members[0].get(), runtime_registry(), {.delays = {.seed = seed, .max_microseconds = 20}});
    executor.begin_prepare(kKey, program.graph());
    executor.finish();
    std::map<std::string, HostTensor> states;
    for (const Value* state : program.graph().values_with_role(Role::kState)) states[state->name()] = state->data;
    for (int step = 0; step < 2; ++step) {
      const HostTensor x = RandomProgram::values(kImage, 5 + step);
      executor.begin_run(kKey, {.tensors = {{"x", {x}}}});
      const StepOutputs outputs = executor.finish();
      const StepOutputs expected = run_by_the_book(program.graph(), x, states);
      for (const auto& [name, tensor] : expected) {
        ASSERT_THAT(outputs.at(name).values<float>(), testing::ElementsAreArray(tensor.values<float>()))
            << "output " << name << ", seed " << seed << "\n"
            << print(executor.plan(kKey));
      }
      for (const auto& [name, tensor] : states) {
        if (!executor.store().has(name)) continue;
        ASSERT_THAT(executor.store().read(name).values<float>(), testing::ElementsAreArray(tensor.values<float>()))
            << "state " << name << ", seed " << seed << "\n"
            << print(executor.plan(kKey));
      }
    }
  }
}

}  // namespace
}  // namespace onward::test
