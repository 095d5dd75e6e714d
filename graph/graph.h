#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/attributes.h"
#include "graph/tensor.h"
#include "graph/types.h"

namespace onward {

class Node;
class Graph;

// What a value is for.
enum class Role : uint8_t {
  kInput,         // bound from a batch before a step
  kLabel,         // the class labels of a batch
  kScalar,        // a number the trainer sets every step: learning rate, loss denominator, step (see passes/scalars.h)
  kParameter,     // trained: has a gradient and an optimizer step
  kState,         // kept between steps, not trained by gradient: running statistics, moments
  kConstant,      // known before the first step
  kIntermediate,  // made by a node
  kOutput,        // made by a node and an output of the graph
};
std::string role_name(Role role);

// How a value relates to its copies on the other replicas.
enum class Distribution : uint8_t {
  kUnknown,
  kReplicated,  // the same on every replica
  kBatchSplit,  // every replica has its own rows of dimension 0
  kPartial,     // the true value is the sum over replicas
  kLocal,       // belongs to the replica alone: statistics of --bn local
};
std::string distribution_name(Distribution distribution);

struct OpId {
  std::string domain;  // "" is ai.onnx; kOnwardDomain holds this program's own ops
  std::string name;
  auto operator<=>(const OpId&) const = default;
};
inline constexpr const char* kOnwardDomain = "onward";
// "Conv", "onward::AllReduce".
std::string to_string(const OpId& op);
// The domain as messages name it: "ai.onnx" for "".
std::string domain_text(const std::string& domain);

struct Use {
  Node* node;
  int index;  // position among the node's inputs
  bool operator==(const Use&) const = default;
};

// One tensor of the program. Owned by its graph; linked by pointer, never looked up by a name suffix.
class Value {
 public:
  int id() const { return id_; }  // unique in the graph, ascending in order of creation
  const std::string& name() const { return name_; }
  Node* producer() const { return producer_; }
  int producer_index() const { return producer_index_; }
  // In order of insertion. A node that reads the value twice appears twice.
  const std::vector<Use>& uses() const { return uses_; }

  TensorType type;
  Role role = Role::kIntermediate;
  Distribution distribution = Distribution::kUnknown;
  // Constants: the value. Parameters and state: the initial value. Empty for all others.
  HostTensor data;

 private:
  friend class Graph;
  int id_ = 0;
  std::string name_;
  Node* producer_ = nullptr;
  int producer_index_ = -1;
  std::vector<Use> uses_;
};

// One operation: data only. What the operation means is in the op's record (ops/core/op_def.h).
class Node {
 public:
  int id() const { return id_; }
  const OpId& op() const { return op_; }
  bool is(const char* name, const char* domain = "") const { return op_.name == name && op_.domain == domain; }
  // nullptr stands for an optional input or output that is absent.
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  // nullptr too when the index is past the end.
  Value* input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  Value* output(std::size_t i) const { return i < outputs_.size() ? outputs_[i] : nullptr; }
  // "conv1 (Conv)": how messages name the node.
  std::string text() const;

  std::string name;    // as in the file, may be empty
  std::string origin;  // where a generated node comes from: "backward of conv1"
  std::string doc;
  Attributes attributes;

 private:
  friend class Graph;
  int id_ = 0;
  OpId op_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::list<std::unique_ptr<Node>>::iterator position_;
};

// After each step `state` takes the value of `updated`. The two have the same type.
struct StateUpdate {
  Value* state;
  Value* updated;
};

// `gradient` is the derivative of the loss by `parameter`. The two have the same type.
struct ParameterGradient {
  Value* parameter;
  Value* gradient;
};

// The program as data: nodes in an order in which every value is made before it is used.
class Graph {
 public:
  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  std::string name;
  std::string doc;
  // Domain -> version, as the file imports them.
  std::map<std::string, int64_t> opsets;

  // ---- values without a producer
  // A value listed among the graph's inputs. A taken name gets a number appended.
  Value& add_input(const std::string& name, TensorType type, Role role = Role::kInput);
  // A constant, parameter or state with its value.
  Value& add_data(const std::string& name, HostTensor data, Role role = Role::kConstant);

  // ---- nodes; new nodes go before `before`, or to the end
  // Outputs are new values named after `output_names` ("" = absent output), untyped until shapes are inferred.
  Node& add_node(OpId op, std::vector<Value*> inputs, const std::vector<std::string>& output_names,
                 Attributes attributes = {}, Node* before = nullptr);
  void set_input(Node& node, std::size_t index, Value* value);
  void set_inputs(Node& node, std::vector<Value*> inputs);
  // Changes what the node computes, keeping inputs and outputs.
  void set_op(Node& node, OpId op);
  // Adds an output to a node, absent ones in between filled with nullptr.
  Value& add_output_to(Node& node, std::size_t index, const std::string& name, TensorType type = {});
  // Removes outputs from index `first` on. Error(kModel) if one is used.
  void drop_outputs_from(Node& node, std::size_t first);
  // Moves a node directly before another.
  void move_before(Node& node, Node& anchor);
  // Removes a node whose outputs nobody uses (Error(kModel) otherwise), and its output values.
  void erase(Node& node);
  // Removes a value that has neither producer nor uses and is neither input, output, updated nor a gradient.
  void erase(Value& value);
  // Every use of `old`, as an input, as a graph output, as an update and as a gradient, becomes one of `replacement`.
  void replace_uses(Value& old, Value& replacement);
  void rename(Value& value, const std::string& name);

  // ---- the interface
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  const std::vector<StateUpdate>& updates() const { return updates_; }
  void add_output(Value& value);
  void remove_output(Value& value);
  void remove_input(Value& value);
  void add_update(Value& state, Value& updated);
  void clear_updates() { updates_.clear(); }
  bool is_output(const Value& value) const;
  // Whether the interface names the value: as input, output, side of an update, side of a gradient.
  bool is_kept(const Value& value) const;
  // The gradients between the pass that makes them and the one that consumes them in optimizer steps, in the order in
  // which backward finishes them.
  const std::vector<ParameterGradient>& gradients() const { return gradients_; }
  void add_gradient(Value& parameter, Value& gradient) { gradients_.push_back({&parameter, &gradient}); }
  void set_gradient(std::size_t i, Value& gradient) { gradients_.at(i).gradient = &gradient; }
  void clear_gradients() { gradients_.clear(); }

  // ---- traversal
  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  // The nodes as they are now: safe while the graph changes, as long as visited nodes are not erased by others.
  std::vector<Node*> node_list() const;
  // Values in order of creation.
  std::vector<Value*> value_list() const;
  // nullptr if there is none.
  Value* find_value(const std::string& name) const;
  std::vector<Value*> values_with_role(Role role) const;

  // A deep copy that shares tensor data. `values` (if given) maps each value of this graph to its copy.
  Graph clone(std::unordered_map<const Value*, Value*>* values = nullptr) const;

  // A name that no value has yet: `base`, or base with a number appended.
  std::string fresh_name(const std::string& base) const;

 private:
  Value& new_value(const std::string& name, TensorType type, Role role);
  // Outputs are values without a producer (nullptr = absent).
  Node& add_node_to(OpId op, std::vector<Value*> inputs, std::vector<Value*> outputs, Attributes attributes = {},
                    Node* before = nullptr);
  void remove_use(Value* value, Node* node, int index);
  void check_unused(const Node& node, const Value& value) const;

  int next_node_id_ = 0;
  int next_value_id_ = 0;
  std::list<std::unique_ptr<Node>> nodes_;
  std::map<int, std::unique_ptr<Value>> values_;
  std::unordered_map<std::string, Value*> by_name_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::vector<StateUpdate> updates_;
  std::vector<ParameterGradient> gradients_;
};

}  // namespace onward
