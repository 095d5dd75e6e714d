#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace onward {

std::string role_name(Role role) {
  switch (role) {
    case Role::kInput: return "input";
    case Role::kLabel: return "label";
    case Role::kScalar: return "scalar";
    case Role::kParameter: return "parameter";
    case Role::kState: return "state";
    case Role::kConstant: return "constant";
    case Role::kIntermediate: return "intermediate";
    case Role::kOutput: return "output";
  }
  return "?";
}

std::string distribution_name(Distribution distribution) {
  switch (distribution) {
    case Distribution::kUnknown: return "unknown";
    case Distribution::kReplicated: return "replicated";
    case Distribution::kBatchSplit: return "batch-split";
    case Distribution::kPartial: return "partial";
    case Distribution::kLocal: return "local";
  }
  return "?";
}

std::string to_string(const OpId& op) { return op.domain.empty() ? op.name : op.domain + "::" + op.name; }

std::string Node::text() const {
  if (!name.empty()) return fmt::format("{} ({})", name, to_string(op_));
  if (!origin.empty()) return fmt::format("{} ({})", to_string(op_), origin);
  for (const Value* value : outputs_) {
    if (value) return fmt::format("{} -> {}", to_string(op_), value->name());
  }
  return to_string(op_);
}

std::string domain_text(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

std::string Graph::fresh_name(const std::string& base) const {
  if (!base.empty() && !by_name_.contains(base)) return base;
  for (int i = 1;; ++i) {
    std::string name = fmt::format("{}_{}", base.empty() ? "value" : base, i);
    if (!by_name_.contains(name)) return name;
  }
}

Value& Graph::new_value(const std::string& name, TensorType type, Role role) {
  auto value = std::make_unique<Value>();
  value->id_ = next_value_id_++;
  value->name_ = fresh_name(name);
  value->type = std::move(type);
  value->role = role;
  Value& reference = *value;
  by_name_[reference.name_] = &reference;
  values_.emplace(reference.id_, std::move(value));
  return reference;
}

Value& Graph::add_input(const std::string& name, TensorType type, Role role) {
  Value& value = new_value(name, std::move(type), role);
  inputs_.push_back(&value);
  return value;
}

Value& Graph::add_data(const std::string& name, HostTensor data, Role role) {
  Value& value = new_value(name, data.type(), role);
  value.data = std::move(data);
  return value;
}

Node& Graph::add_node(OpId op, std::vector<Value*> inputs, const std::vector<std::string>& output_names,
                      Attributes attributes, Node* before) {
  std::vector<Value*> outputs;
  for (const std::string& name : output_names) {
    outputs.push_back(name.empty() ? nullptr : &new_value(name, {}, Role::kIntermediate));
  }
  return add_node_to(std::move(op), std::move(inputs), std::move(outputs), std::move(attributes), before);
}

Node& Graph::add_node_to(OpId op, std::vector<Value*> inputs, std::vector<Value*> outputs, Attributes attributes,
                         Node* before) {
  auto position = nodes_.insert(before ? before->position_ : nodes_.end(), std::make_unique<Node>());
  Node& node = **position;
  node.id_ = next_node_id_++;
  node.op_ = std::move(op);
  node.attributes = std::move(attributes);
  node.position_ = position;
  node.outputs_ = std::move(outputs);
  for (std::size_t i = 0; i < node.outputs_.size(); ++i) {
    Value* value = node.outputs_[i];
    if (!value) continue;
    if (value->producer_) {
      throw Error(ErrorKind::kModel, fmt::format("value '{}' has two producers: {} and {}", value->name(),
                                                 value->producer_->text(), node.text()));
    }
    value->producer_ = &node;
    value->producer_index_ = static_cast<int>(i);
  }
  set_inputs(node, std::move(inputs));
  return node;
}

void Graph::remove_use(Value* value, Node* node, int index) {
  if (!value) return;
  auto& uses = value->uses_;
  uses.erase(std::find(uses.begin(), uses.end(), Use{node, index}));
}

void Graph::set_input(Node& node, std::size_t index, Value* value) {
  if (index >= node.inputs_.size()) node.inputs_.resize(index + 1, nullptr);
  remove_use(node.inputs_[index], &node, static_cast<int>(index));
  node.inputs_[index] = value;
  if (value) value->uses_.push_back({&node, static_cast<int>(index)});
}

void Graph::set_inputs(Node& node, std::vector<Value*> inputs) {
  for (std::size_t i = 0; i < node.inputs_.size(); ++i) remove_use(node.inputs_[i], &node, static_cast<int>(i));
  node.inputs_ = std::move(inputs);
  for (std::size_t i = 0; i < node.inputs_.size(); ++i) {
    if (node.inputs_[i]) node.inputs_[i]->uses_.push_back({&node, static_cast<int>(i)});
  }
}

void Graph::set_op(Node& node, OpId op) { node.op_ = std::move(op); }

Value& Graph::add_output_to(Node& node, std::size_t index, const std::string& name, TensorType type) {
  if (index >= node.outputs_.size()) node.outputs_.resize(index + 1, nullptr);
  if (node.outputs_[index]) throw Error(ErrorKind::kModel, fmt::format("{} has output {} already", node.text(), index));
  Value& value = new_value(name, std::move(type), Role::kIntermediate);
  value.producer_ = &node;
  value.producer_index_ = static_cast<int>(index);
  node.outputs_[index] = &value;
  return value;
}

void Graph::move_before(Node& node, Node& anchor) { nodes_.splice(anchor.position_, nodes_, node.position_); }

bool Graph::is_kept(const Value& value) const {
  const auto updates = [&](const StateUpdate& u) { return u.state == &value || u.updated == &value; };
  const auto gradient = [&](const ParameterGradient& g) { return g.parameter == &value || g.gradient == &value; };
  return is_output(value) || std::find(inputs_.begin(), inputs_.end(), &value) != inputs_.end() ||
         std::any_of(updates_.begin(), updates_.end(), updates) ||
         std::any_of(gradients_.begin(), gradients_.end(), gradient);
}

void Graph::check_unused(const Node& node, const Value& value) const {
  if (!value.uses_.empty() || is_kept(value)) {
    throw Error(ErrorKind::kModel, fmt::format("cannot remove {}: '{}' is used", node.text(), value.name()));
  }
}

void Graph::drop_outputs_from(Node& node, std::size_t first) {
  for (std::size_t i = first; i < node.outputs_.size(); ++i) {
    if (node.outputs_[i]) check_unused(node, *node.outputs_[i]);
  }
  while (node.outputs_.size() > first) {
    if (Value* value = node.outputs_.back()) {
      by_name_.erase(value->name_);
      values_.erase(value->id_);
    }
    node.outputs_.pop_back();
  }
}

void Graph::erase(Node& node) {
  drop_outputs_from(node, 0);
  set_inputs(node, {});
  nodes_.erase(node.position_);
}

void Graph::erase(Value& value) {
  if (value.producer_ || !value.uses_.empty() || is_kept(value)) {
    throw Error(ErrorKind::kModel, fmt::format("cannot remove value '{}': it is used", value.name()));
  }
  by_name_.erase(value.name_);
  values_.erase(value.id_);
}

void Graph::replace_uses(Value& old, Value& replacement) {
  const std::vector<Use> uses = old.uses_;
  for (const Use& use : uses) set_input(*use.node, static_cast<std::size_t>(use.index), &replacement);
  for (Value*& output : outputs_) {
    if (output == &old) {
      output = &replacement;
      if (old.role == Role::kOutput) old.role = Role::kIntermediate;
      if (replacement.role == Role::kIntermediate) replacement.role = Role::kOutput;
    }
  }
  for (StateUpdate& update : updates_) {
    if (update.updated == &old) update.updated = &replacement;
  }
  for (ParameterGradient& pair : gradients_) {
    if (pair.gradient == &old) pair.gradient = &replacement;
  }
}

void Graph::rename(Value& value, const std::string& name) {
  by_name_.erase(value.name_);
  value.name_ = fresh_name(name);
  by_name_[value.name_] = &value;
}

void Graph::add_output(Value& value) {
  outputs_.push_back(&value);
  if (value.role == Role::kIntermediate) value.role = Role::kOutput;
}

void Graph::remove_output(Value& value) {
  outputs_.erase(std::find(outputs_.begin(), outputs_.end(), &value));
  if (value.role == Role::kOutput && !is_output(value)) value.role = Role::kIntermediate;
}

void Graph::remove_input(Value& value) { inputs_.erase(std::find(inputs_.begin(), inputs_.end(), &value)); }

void Graph::add_update(Value& state, Value& updated) { updates_.push_back({&state, &updated}); }

bool Graph::is_output(const Value& value) const {
  return std::find(outputs_.begin(), outputs_.end(), &value) != outputs_.end();
}

std::vector<Node*> Graph::node_list() const {
  std::vector<Node*> list;
  list.reserve(nodes_.size());
  for (const auto& node : nodes_) list.push_back(node.get());
  return list;
}

std::vector<Value*> Graph::value_list() const {
  std::vector<Value*> list;
  list.reserve(values_.size());
  for (const auto& [id, value] : values_) list.push_back(value.get());
  return list;
}

Value* Graph::find_value(const std::string& value_name) const {
  const auto found = by_name_.find(value_name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<Value*> Graph::values_with_role(Role role) const {
  std::vector<Value*> list;
  for (const auto& [id, value] : values_) {
    if (value->role == role) list.push_back(value.get());
  }
  return list;
}

Graph Graph::clone(std::unordered_map<const Value*, Value*>* values) const {
  Graph copy;
  copy.name = name;
  copy.doc = doc;
  copy.opsets = opsets;
  std::unordered_map<const Value*, Value*> map;
  map[nullptr] = nullptr;
  for (const auto& [id, value] : values_) {
    Value& twin = copy.new_value(value->name_, value->type, value->role);
    twin.distribution = value->distribution;
    twin.data = value->data;
    map[value.get()] = &twin;
  }
  const auto translate = [&](const std::vector<Value*>& list) {
    std::vector<Value*> out;
    for (const Value* value : list) out.push_back(map.at(value));
    return out;
  };
  for (const auto& node : nodes_) {
    Node& twin = copy.add_node_to(node->op_, translate(node->inputs_), translate(node->outputs_), node->attributes);
    twin.name = node->name;
    twin.origin = node->origin;
    twin.doc = node->doc;
  }
  copy.inputs_ = translate(inputs_);
  copy.outputs_ = translate(outputs_);
  for (const StateUpdate& update : updates_) copy.updates_.push_back({map.at(update.state), map.at(update.updated)});
  for (const ParameterGradient& pair : gradients_) {
    copy.gradients_.push_back({map.at(pair.parameter), map.at(pair.gradient)});
  }
  if (values) *values = std::move(map);
  return copy;
}

}  // namespace onward
