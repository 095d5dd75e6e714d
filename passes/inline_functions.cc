// A call of a function of the file becomes the function's body, before anything else looks at the graph: every later
// pass, the backward pass above all, sees only ops with a record. Values and nodes of the body are named CALL/NAME.
#include "passes/inline_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/error.h"

namespace onward {
namespace {

using ValueMap = std::unordered_map<const Value*, Value*>;

class Inliner {
 public:
  Inliner(Graph& graph, const FunctionLookup& functions) : graph_(graph), functions_(functions) {}

  void run() {
    for (Node* node : graph_.node_list()) expand(*node);
  }

 private:
  void expand(Node& call) {
    const Model::Function* function = functions_(call.op());
    if (!function) return;
    check_recursion(call);
    check_arity(call, *function);
    import_opsets(function->graph);
    stack_.push_back(call.op());
    const std::vector<Node*> body = copy_body(call, *function);
    for (Node* node : body) expand(*node);
    stack_.pop_back();
  }

  void check_recursion(const Node& call) const {
    if (std::find(stack_.begin(), stack_.end(), call.op()) == stack_.end()) return;
    std::string chain;
    for (const OpId& op : stack_) chain += to_string(op) + " -> ";
    throw Error(ErrorKind::kModel, fmt::format("expected functions that do not call themselves, found {}{} in {}",
                                               chain, to_string(call.op()), call.text()));
  }

  void check_arity(const Node& call, const Model::Function& function) const {
    const Graph& body = function.graph;
    if (call.inputs().size() > body.inputs().size() || call.outputs().size() > body.outputs().size()) {
      throw Error(
          ErrorKind::kModel,
          fmt::format("expected at most {} inputs and {} outputs, as the function {} declares, found {} and {} in {}",
                      body.inputs().size(), body.outputs().size(), to_string(call.op()), call.inputs().size(),
                      call.outputs().size(), call.text()));
    }
  }

  // Where both import a domain, ONNX demands versions with the same meaning of every op used.
  void import_opsets(const Graph& body) {
    for (const auto& [domain, version] : body.opsets) graph_.opsets.emplace(domain, version);
  }

  static Attributes resolve(const Attributes& attributes, const Node& call, const Model::Function& function) {
    std::map<std::string, Attribute> given(call.attributes.begin(), call.attributes.end());
    given.insert(function.defaults.begin(), function.defaults.end());
    Attributes resolved;
    for (const auto& [name, value] : attributes) {
      const auto* reference = std::get_if<AttributeReference>(&value);
      if (!reference) {
        resolved.set(name, value);
      } else if (const auto found = given.find(reference->name); found != given.end()) {
        resolved.set(name, found->second);
      }
    }
    return resolved;
  }

  std::vector<Node*> copy_body(Node& call, const Model::Function& function) {
    const std::string prefix = (call.name.empty() ? call.op().name : call.name) + "/";
    ValueMap map{{nullptr, nullptr}};
    for (std::size_t i = 0; i < function.graph.inputs().size(); ++i) map[function.graph.inputs()[i]] = call.input(i);
    for (const Value* value : function.graph.values_with_role(Role::kConstant)) {
      map[value] = &graph_.add_data(prefix + value->name(), value->data);
    }
    std::vector<Node*> copies;
    for (const auto& node : function.graph.nodes()) {
      std::vector<Value*> inputs;
      for (const Value* input : node->inputs()) inputs.push_back(map.at(input));
      std::vector<std::string> names;
      for (const Value* output : node->outputs()) names.push_back(output ? prefix + output->name() : "");
      Node& copy =
          graph_.add_node(node->op(), std::move(inputs), names, resolve(node->attributes, call, function), &call);
      copy.name = node->name.empty() ? "" : prefix + node->name;
      copy.origin = node->name.empty() ? "body of " + call.text() : "";
      for (std::size_t i = 0; i < node->outputs().size(); ++i) map[node->outputs()[i]] = copy.output(i);
      copies.push_back(&copy);
    }
    replace_call(call, function.graph, copies, map);
    return copies;
  }

  // The results take the names of the call's outputs, by which graph outputs and messages know them.
  void replace_call(Node& call, const Graph& body, const std::vector<Node*>& copies, const ValueMap& map) {
    std::unordered_set<const Value*> free;  // made by the body and not yet a result
    for (const Node* copy : copies) free.insert(copy->outputs().begin(), copy->outputs().end());
    std::vector<std::pair<Value*, std::string>> names;
    for (std::size_t i = 0; i < call.outputs().size(); ++i) {
      Value* old = call.output(i);
      if (!old) continue;
      Value* result = map.at(body.outputs()[i]);
      if (!result) {
        throw Error(ErrorKind::kModel,
                    fmt::format("expected the input that output {} of {} passes through, found none", i, call.text()));
      }
      // An input that the function passes through, or a value that it returns twice, keeps its own name.
      if (free.erase(result) == 0) {
        result = graph_.add_node({"", "Identity"}, {result}, {old->name()}, {}, &call).output(0);
      }
      if (result->type.dtype == DType::kUndefined) result->type = old->type;
      graph_.replace_uses(*old, *result);
      names.emplace_back(result, old->name());
    }
    graph_.erase(call);
    for (const auto& [value, name] : names) graph_.rename(*value, name);
  }

  Graph& graph_;
  const FunctionLookup& functions_;
  std::vector<OpId> stack_;
};

}  // namespace

void inline_functions(Graph& graph, const FunctionLookup& functions) {
  if (functions) Inliner(graph, functions).run();
}

Pass inline_functions_pass() {
  return {.name = "inline-functions",
          .run = [](Graph& graph, PassContext& context) { inline_functions(graph, context.functions); }};
}

}  // namespace onward
