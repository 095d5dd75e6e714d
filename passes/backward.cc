// Reverse-mode differentiation on the graph. Two walks mark what matters: forward from the sources (parameters,
// inputs), and back from the target (the loss). Then the marked nodes are visited in reverse order, each rule is handed
// the gradients of the node's outputs, and what it gives for the inputs is added up. A gradient is complete when the
// last user has been visited; users come before producers, so it is complete when its producer's turn comes.
#include "passes/backward.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "passes/distributions.h"
#include "passes/outputs.h"
#include "passes/trained_parameters.h"

namespace onward {
namespace {

using Values = std::unordered_set<const Value*>;

class Backward {
 public:
  Backward(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), registry_(context.registry), target_(find_target()) {}

  void run() {
    infer_distributions(graph_, context_.options.replicas, registry_);
    parameters_ = trained_parameters(graph_, context_.options);
    sources_.insert(parameters_.begin(), parameters_.end());
    if (context_.options.input_gradients) mark_inputs();
    mark_dependent();
    mark_relevant();
    check_sources();
    check_rules();
    count_users();
    gradients_[&target_] = seed();
    for (Node* node : visiting_order()) visit(*node);
    output_input_gradients();
  }

 private:
  Value& find_target() const {
    const std::string name = context_.loss ? context_.loss->value : kLossOutput;
    Value* value = graph_.find_value(name);
    if (!value || !graph_.is_output(*value)) {
      throw Error(ErrorKind::kModel, fmt::format("expected an output '{}' to differentiate, found none", name));
    }
    if (!is_floating(value->type.dtype) || element_count(value->type.shape()) != 1) {
      throw Error(ErrorKind::kModel, fmt::format("expected one floating number to differentiate, found '{}' of type {}",
                                                 name, value->type.text()));
    }
    return *value;
  }

  void mark_inputs() {
    for (const Value* value : graph_.inputs()) {
      if (value->role == Role::kInput && is_floating(value->type.dtype)) sources_.insert(value);
    }
  }

  // Whether a gradient can flow through input i of the node.
  bool flows(const Node& node, std::size_t i) const {
    const Value* value = node.input(i);
    if (!value || !is_floating(value->type.dtype)) return false;
    const std::vector<int>& stops = registry_.op(node.op()).no_gradient_inputs;
    return std::find(stops.begin(), stops.end(), static_cast<int>(i)) == stops.end();
  }

  bool has_flow_from(const Node& node, const Values& values) const {
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (flows(node, i) && values.contains(node.input(i))) return true;
    }
    return false;
  }

  // Values that change with a source, and values that a batch or a state has a part in.
  void mark_dependent() {
    dependent_ = sources_;
    for (const auto& node : graph_.nodes()) {
      const bool flow = has_flow_from(*node, dependent_);
      const bool data = std::any_of(node->inputs().begin(), node->inputs().end(), [&](const Value* value) {
        return value && (from_data_.contains(value) ||
                         (!value->producer() && value->role != Role::kParameter && value->role != Role::kConstant));
      });
      for (const Value* output : node->outputs()) {
        if (flow && output && is_floating(output->type.dtype)) dependent_.insert(output);
        if (data && output) from_data_.insert(output);
      }
    }
  }

  // Of those, the ones that change the target, and the nodes between.
  void mark_relevant() {
    if (dependent_.contains(&target_)) relevant_.insert(&target_);
    const std::vector<Node*> nodes = graph_.node_list();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const std::vector<Value*>& outputs = (*node)->outputs();
      const bool reaches = std::any_of(outputs.begin(), outputs.end(), [&](Value* v) { return relevant_.contains(v); });
      if (!reaches || !has_flow_from(**node, dependent_)) continue;
      nodes_.push_back(*node);
      for (std::size_t i = 0; i < (*node)->inputs().size(); ++i) {
        if (flows(**node, i) && dependent_.contains((*node)->input(i))) relevant_.insert((*node)->input(i));
      }
    }
  }

  // Half precision has too few digits to add up updates in.
  void check_parameter_types() const {
    std::vector<std::string> short_ones;
    for (const Value* value : parameters_) {
      if (relevant_.contains(value) && dtype_size(value->type.dtype) < sizeof(float))
        short_ones.push_back(fmt::format("'{}' ({})", value->name(), value->type.text()));
    }
    if (short_ones.empty()) return;
    throw Error(ErrorKind::kModel,
                fmt::format("expected parameters of float32 or float64 to train, found {}; store them as float32 and "
                            "leave out the Cast behind them, or name them in --freeze",
                            fmt::join(short_ones, ", ")));
  }

  void check_sources() {
    if (context_.options.optimizer != OptimizerKind::kNone) check_parameter_types();
    bool any = false;
    for (const Value* value : sources_) any |= relevant_.contains(value);
    if (!any) {
      throw Error(ErrorKind::kModel, fmt::format("expected a trained parameter that changes {}, found none among {}",
                                                 target_text(), sources_.size()));
    }
    for (const Value* value : parameters_) {
      if (relevant_.contains(value)) continue;
      context_.warnings.push_back(
          fmt::format("the parameter '{}' does not reach {} and is not trained", value->name(), target_text()));
    }
  }

  std::string target_text() const { return target_.name() == kLossOutput ? "the loss" : "'" + target_.name() + "'"; }

  void check_rules() const {
    std::string list;
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      const OpId& op = (*node)->op();
      if (registry_.op(op).gradient) continue;
      list += fmt::format("\n  {} (domain {})", (*node)->text(), domain_text(op.domain));
    }
    if (list.empty()) return;
    throw Error(ErrorKind::kModel,
                fmt::format("expected a gradient rule for every op between the parameters and {}, found none for:{}\n"
                            "Replace these nodes, or freeze the parameters before them",
                            target_text(), list));
  }

  void count_users() {
    for (const Node* node : nodes_) {
      for (std::size_t i = 0; i < node->inputs().size(); ++i) {
        if (wants(*node, i)) ++open_uses_[node->input(i)];
      }
    }
  }

  bool wants(const Node& node, std::size_t i) const { return flows(node, i) && relevant_.contains(node.input(i)); }

  // Reverse order, except that nodes of parameters alone (an Identity of a shared tensor, a Transpose) come directly
  // after their first user: files list them at the start, and their gradients would wait for the end of backward.
  std::vector<Node*> visiting_order() const {
    std::unordered_map<const Node*, std::size_t> turn;
    std::size_t next = 0;
    for (const Node* node : nodes_) {  // users first
      turn[node] = next++;
      if (is_from_data(*node)) continue;
      std::size_t last_user = 0;
      for (const Value* output : node->outputs()) {
        for (const Use& use : output ? output->uses() : std::vector<Use>{}) {
          if (const auto user = turn.find(use.node); user != turn.end()) last_user = std::max(last_user, user->second);
        }
      }
      turn[node] = last_user;
    }
    std::vector<Node*> order = nodes_;
    std::stable_sort(order.begin(), order.end(), [&](Node* a, Node* b) { return turn.at(a) < turn.at(b); });
    return order;
  }

  bool is_from_data(const Node& node) const {
    const std::vector<Value*>& outputs = node.outputs();
    return std::any_of(outputs.begin(), outputs.end(), [&](const Value* value) { return from_data_.contains(value); });
  }

  Value* seed() {
    const HostTensor one = HostTensor::from<double>(target_.type.shape(), {1.0}).cast(target_.type.dtype);
    Value& value = graph_.add_data(target_.name() + ".grad", one);
    value.distribution = Distribution::kReplicated;
    return &value;
  }

  void visit(Node& node) {
    std::vector<Value*> dys;
    for (const Value* output : node.outputs()) dys.push_back(gradient_of(output));
    std::vector<bool> wanted;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) wanted.push_back(wants(node, i));
    if (std::any_of(dys.begin(), dys.end(), [](Value* dy) { return dy != nullptr; })) apply_rule(node, dys, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] && --open_uses_[node.input(i)] == 0) finish(*node.input(i));
    }
  }

  Value* gradient_of(const Value* value) const {
    const auto found = gradients_.find(value);
    return found == gradients_.end() ? nullptr : found->second;
  }

  // Runs `make`, which appends nodes, and says of each new node how its values are spread over the replicas.
  template <typename Make>
  void append(Make make) {
    const auto last = std::prev(graph_.nodes().end());
    make();
    for (auto node = std::next(last); node != graph_.nodes().end(); ++node) distribute(**node);
  }

  void apply_rule(Node& node, const std::vector<Value*>& dys, const std::vector<bool>& wanted) {
    GradientContext rule(graph_, node, dys, wanted, registry_);
    append([&] {
      registry_.op(node.op()).gradient(rule);
      distribute(node);  // the rule may have asked for one more output
    });
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (Value* dx = rule.dxs()[i]) accumulate(*node.input(i), *dx, node);
    }
  }

  void accumulate(Value& value, Value& dx, const Node& from) {
    if (dx.type != value.type) {
      throw Error(ErrorKind::kModel, fmt::format("the gradient rule of {} gives {} for '{}' of type {}", from.text(),
                                                 dx.type.text(), value.name(), value.type.text()));
    }
    Value* gradient = whole_rows(value, dx, from);
    if (Value* sum = gradient_of(&value)) gradient = emit({"", "Add"}, {sum, gradient}, value);
    gradients_[&value] = gradient;
  }

  // What all replicas share has one gradient, the sum over the rows of all. With one row in the batch the rule of a
  // broadcast had nothing to sum; the sum over that row says that it is one of many.
  Value* whole_rows(const Value& value, Value& dx, const Node& from) {
    if (value.distribution != Distribution::kReplicated || dx.distribution != Distribution::kBatchSplit) return &dx;
    if (value.type.shape().front() == 1) {
      return emit({"", "ReduceSum"}, {&dx}, value, {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{1}}});
    }
    if (context_.options.replicas == 1) return &dx;
    throw Error(
        ErrorKind::kModel,
        fmt::format("'{}' of type {} is the same on every replica, but {} gives every row of the batch its own part of "
                    "it. Train on one replica, or change the model",
                    value.name(), value.type.text(), from.text()));
  }

  Value* emit(OpId op, std::vector<Value*> inputs, const Value& gradient_of, Attributes attributes = {}) {
    Node& node =
        graph_.add_node(std::move(op), std::move(inputs), {gradient_of.name() + ".grad"}, std::move(attributes));
    node.origin = fmt::format("gradient of {}", gradient_of.name());
    infer_node(node, registry_);
    distribute(node);
    return node.output(0);
  }

  void distribute(Node& node) { infer_distribution(node, context_.options.replicas, registry_); }

  // The last user has added its part.
  void finish(Value& value) {
    if (value.role != Role::kParameter) return;
    Value* gradient = gradient_of(&value);
    if (!gradient) {
      context_.warnings.push_back(
          fmt::format("the gradient of '{}' is zero by construction; it is not trained", value.name()));
      return;
    }
    graph_.add_gradient(value, own_gradient(*gradient, value));
  }

  // Whoever reduces, updates or prints gradients may rely on each being a value of its own, made by a node.
  Value& own_gradient(Value& gradient, const Value& of) {
    Value* own = &gradient;
    if (!gradient.producer() || taken_.contains(&gradient)) own = emit({"", "Identity"}, {&gradient}, of);
    taken_.insert(own);
    graph_.rename(*own, gradient_name(of.name()));
    return *own;
  }

  void output_input_gradients() {
    if (!context_.options.input_gradients) return;
    for (const Value* input : graph_.inputs()) {
      if (!sources_.contains(input)) continue;
      Value* gradient = gradient_of(input);
      if (!gradient) {
        context_.warnings.push_back(fmt::format("the input '{}' does not reach {}", input->name(), target_text()));
        continue;
      }
      graph_.add_output(own_gradient(*gradient, *input));
    }
  }

  Graph& graph_;
  PassContext& context_;
  const Registry& registry_;
  Value& target_;
  std::vector<Value*> parameters_;
  Values sources_;            // what derivatives are taken by
  Values dependent_;          // changes with a source
  Values from_data_;          // is not the same in every step
  Values relevant_;           // changes with a source and changes the target
  std::vector<Node*> nodes_;  // between sources and target, users before producers
  std::unordered_map<const Value*, int> open_uses_;
  std::unordered_map<const Value*, Value*> gradients_;
  std::unordered_set<Value*> taken_;
};

}  // namespace

Pass backward_pass() {
  return {.name = "backward",
          .run = [](Graph& graph, PassContext& context) { Backward(graph, context).run(); },
          .requires_ = {"static"},
          .ensures = {"backward"}};
}

}  // namespace onward
