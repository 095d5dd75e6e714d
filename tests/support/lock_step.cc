#include "tests/support/lock_step.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "ops/core/host_run.h"
#include "ops/core/registry.h"

namespace onward::test {
namespace {

// One replica in the middle of its program.
class Run {
 public:
  Run(const Graph& graph, NamedTensors& store, const NamedTensors& inputs) : nodes_(graph.node_list()), graph_(graph) {
    for (Value* value : graph.value_list()) {
      if (value->role == Role::kParameter || value->role == Role::kState) {
        values_[value] = store.try_emplace(value->name(), value->data).first->second;
      } else if (!value->data.empty()) {
        values_[value] = value->data;
      } else if (const auto given = inputs.find(value->name()); given != inputs.end() && !value->producer()) {
        values_[value] = given->second;
      }
    }
  }

  // Runs to the next collective and returns it; nullptr at the end.
  Node* advance(const HostRunOptions& options) {
    for (; next_ < nodes_.size(); ++next_) {
      Node& node = *nodes_[next_];
      if (registry().op(node.op()).communicates) return &node;
      set_outputs(node, run_node_on_host(node, inputs_of(node), registry(), options));
    }
    return nullptr;
  }

  std::vector<HostTensor> inputs_of(const Node& node) const {
    std::vector<HostTensor> inputs;
    for (const Value* value : node.inputs()) {
      if (value && !values_.contains(value)) throw std::logic_error("no value for " + value->name());
      inputs.push_back(value ? values_.at(value) : HostTensor());
    }
    return inputs;
  }

  void set_outputs(const Node& node, const std::vector<HostTensor>& outputs) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      if (node.output(i)) values_[node.output(i)] = outputs.at(i);
    }
  }

  void finish_collective(const std::vector<HostTensor>& outputs) { set_outputs(*nodes_[next_++], outputs); }

  NamedTensors finish(NamedTensors& store) const {
    for (const StateUpdate& update : graph_.updates()) store[update.state->name()] = values_.at(update.updated);
    NamedTensors outputs;
    for (const Value* output : graph_.outputs()) outputs[output->name()] = values_.at(output);
    return outputs;
  }

 private:
  std::vector<Node*> nodes_;
  const Graph& graph_;
  std::size_t next_ = 0;
  std::unordered_map<const Value*, HostTensor> values_;
};

std::string collective_text(const Node& node, const std::vector<HostTensor>& operands) {
  std::string text = fmt::format("{} {}:", node.op().name, node.attributes.get_int("collective"));
  for (const HostTensor& operand : operands) text += " " + operand.type().text();
  return text;
}

template <typename T>
void add_to(HostTensor& sum, const HostTensor& term) {
  for (std::size_t i = 0; i < sum.edit_values<T>().size(); ++i) sum.edit_values<T>()[i] += term.values<T>()[i];
}

HostTensor sum_of(const std::vector<HostTensor>& terms) {
  HostTensor sum = terms.front();
  for (std::size_t r = 1; r < terms.size(); ++r) {
    switch (sum.dtype()) {
      case DType::kFloat32: add_to<float>(sum, terms[r]); break;
      case DType::kFloat64: add_to<double>(sum, terms[r]); break;
      case DType::kInt64: add_to<int64_t>(sum, terms[r]); break;
      default: throw std::logic_error("an all-reduce of " + dtype_name(sum.dtype()));
    }
  }
  return sum;
}

HostTensor stack_of(const std::vector<HostTensor>& parts) {
  Shape shape = parts.front().shape();
  shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  HostTensor stack(parts.front().dtype(), shape);
  auto* to = static_cast<std::byte*>(stack.edit());
  for (const HostTensor& part : parts)
    to = static_cast<std::byte*>(std::memcpy(to, part.data(), part.bytes())) + part.bytes();
  return stack;
}

// All replicas stand at a collective: operand by operand, what each of them receives.
std::vector<HostTensor> communicate(const Node& node, const std::vector<std::vector<HostTensor>>& operands) {
  std::vector<HostTensor> results;
  for (std::size_t i = 0; i < operands.front().size(); ++i) {
    std::vector<HostTensor> parts;
    for (const std::vector<HostTensor>& replica : operands) parts.push_back(replica.at(i));
    results.push_back(node.op().name == "AllGather" ? stack_of(parts) : sum_of(parts));
  }
  return results;
}

}  // namespace

std::vector<NamedTensors> LockStep::run(const std::vector<const Graph*>& programs,
                                        const std::vector<NamedTensors>& inputs) {
  std::vector<Run> runs;
  for (std::size_t r = 0; r < stores_.size(); ++r) runs.emplace_back(*programs.at(r), stores_[r], inputs.at(r));
  for (;;) {
    std::vector<Node*> waiting;
    std::vector<std::vector<HostTensor>> operands;
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      Node* node = runs[r].advance({.max_priority = options_.max_priority,
                                    .fill_with_nan = options_.fill_with_nan,
                                    .rank = static_cast<int>(r),
                                    .replicas = static_cast<int>(runs.size())});
      waiting.push_back(node);
      if (node) operands.push_back(runs[r].inputs_of(*node));
      texts.push_back(node ? collective_text(*node, operands.back()) : "the end");
      if (texts.back() != texts.front())
        throw std::logic_error("replicas wait for " + texts.front() + " and " + texts.back());
    }
    if (!waiting.front()) break;
    collectives_.push_back(texts.front());
    const std::vector<HostTensor> results = communicate(*waiting.front(), operands);
    for (Run& run : runs) run.finish_collective(results);
  }
  std::vector<NamedTensors> outputs;
  for (std::size_t r = 0; r < runs.size(); ++r) outputs.push_back(runs[r].finish(stores_[r]));
  return outputs;
}

}  // namespace onward::test
