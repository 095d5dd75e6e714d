#include "passes/untie.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "passes/inline_functions.h"
#include "passes/untie_states.h"

namespace onward {
namespace {

bool all_equal(const HostTensor& tensor) {
  const std::size_t size = dtype_size(tensor.dtype());
  if (tensor.count() == 0 || size == 0) return false;
  const auto* bytes = static_cast<const char*>(tensor.data());
  return std::memcmp(bytes, bytes + size, tensor.bytes() - size) == 0;
}

bool is_stored_float(const Value& value) {
  return !value.producer() && !value.data.empty() && is_floating(value.type.dtype);
}

class Untier {
 public:
  Untier(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node* node : graph_.node_list()) {
      if (node->is("Identity")) replace_identity(*node);
    }
    if (context_.options.keep_tied) return;
    for (Value* value : graph_.value_list()) {
      if (is_stored_float(*value) && value->uses().size() > 1) split(*value);
    }
  }

 private:
  bool is_uniform(const Value& value) {
    const auto [found, fresh] = uniform_.try_emplace(value.data.data(), false);
    if (fresh) found->second = all_equal(value.data);
    return found->second;
  }

  void replace_identity(Node& node) {
    Value& source = *node.input(0);
    Value& result = *node.output(0);
    if (source.producer() || source.data.empty() || graph_.is_output(result)) return;
    const bool alone = !is_stored_float(source) || source.uses().size() == 1 || source.data.count() == 1;
    if (alone || context_.options.keep_tied || !is_uniform(source)) {
      graph_.replace_uses(result, source);
      graph_.erase(node);
      return;
    }
    const std::string name = result.name();
    Value& copy = graph_.add_data(name, source.data, source.role);
    graph_.replace_uses(result, copy);
    graph_.erase(node);
    graph_.rename(copy, name);
    count_copy(source, copy);
  }

  void count_copy(const Value& source, const Value& copy) {
    const auto root = roots_.find(&source);
    const std::string& name = root == roots_.end() ? source.name() : root->second;
    roots_.emplace(&copy, name);
    ++context_.apart[name];
  }

  // Statistics of single channels are split too: each BatchNormalization keeps its own.
  bool splits(const Value& value, const Use& use) const {
    const OpDef* def = context_.registry.find(use.node->op());
    return use.node->output(0) && (value.data.count() > 1 || (def && !def->states.empty()));
  }

  void split(Value& value) {
    if (!is_uniform(value)) return;
    const std::vector<Use> uses = value.uses();
    for (const Use& use : uses) {
      if (use.node == uses.front().node || !splits(value, use)) continue;
      Value& copy = graph_.add_data(value.name(), value.data, value.role);
      graph_.set_input(*use.node, static_cast<std::size_t>(use.index), &copy);
      context_.untied.push_back({.name = copy.name(),
                                 .source = value.name(),
                                 .node_output = use.node->output(0)->name(),
                                 .input = use.index});
      count_copy(value, copy);
    }
  }

  Graph& graph_;
  PassContext& context_;
  std::unordered_map<const void*, bool> uniform_;
  std::unordered_map<const Value*, std::string> roots_;  // of copies: the tensor of the file
};

}  // namespace

std::vector<UntiedTensor> untied_tensors(const Model& model, const Registry& registry) {
  Graph graph = model.graph();
  const ProgramOptions options;
  PassContext context{.options = options, .request = {}, .registry = registry};
  context.functions = [&model](const OpId& op) { return model.function(op); };
  run_passes(graph, {inline_functions_pass(), untie_states_pass(), untie_pass()}, context);
  return context.untied;
}

Pass untie_pass() {
  return {.name = "untie", .run = [](Graph& graph, PassContext& context) { Untier(graph, context).run(); }};
}

}  // namespace onward
