// The edits of an export. Everything that is not named by an edit stays as the file has it.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/error.h"
#include "graph/onnx_convert.h"

namespace onward {
namespace {

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

template <typename List>
int64_t standard_opset(const List& imports) {
  int64_t version = 1;
  for (const auto& import : imports) {
    if (canonical_domain(import.domain()).empty()) version = import.version();
  }
  return version;
}

onnx::AttributeProto* find_attribute(onnx::NodeProto& node, const std::string& name) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

void erase_attribute(onnx::NodeProto& node, const std::string& name) {
  auto& list = *node.mutable_attribute();
  for (int i = list.size() - 1; i >= 0; --i) {
    if (list[i].name() == name) list.DeleteSubrange(i, 1);
  }
}

void set_int(onnx::NodeProto& node, const std::string& name, int64_t value) {
  onnx::AttributeProto* attribute = find_attribute(node, name);
  if (!attribute) attribute = node.add_attribute();
  attribute_to_onnx(name, value, *attribute);
}

std::string describe(const onnx::NodeProto& node) {
  return fmt::format("{} ({})", node.name().empty() && node.output_size() ? node.output(0) : node.name(),
                     node.op_type());
}

// ---- new values

// Where the elements of a stored tensor lie: an initializer, or the attribute of a Constant node.
struct Place {
  onnx::TensorProto* tensor = nullptr;
  onnx::NodeProto* constant = nullptr;  // a Constant node that holds its value in another form than a tensor
};

class TensorEditor {
 public:
  explicit TensorEditor(onnx::GraphProto& graph) : graph_(graph) {
    for (auto& tensor : *graph.mutable_initializer()) places_[tensor.name()] = {&tensor, nullptr};
    for (auto& node : *graph.mutable_node()) index(node);
  }

  void replace(const std::string& name, const HostTensor& value) {
    if (const auto place = places_.find(name); place != places_.end()) {
      check_type(name, stored_type(place->second), value);
      store(place->second, value);
    } else if (const auto alias = aliases_.find(name); alias != aliases_.end()) {
      check_type(name, stored_type(source(name)), value);
      untied_.emplace(name, value);
    } else {
      throw Error(ErrorKind::kModel,
                  fmt::format("expected the file to store a tensor '{}' to put new values in, found none", name));
    }
  }

  // Turns every copy (Identity of a stored tensor) that got a value of its own into a stored tensor.
  void finish() {
    if (untied_.empty()) return;
    NodeList& nodes = *graph_.mutable_node();
    for (int i = nodes.size() - 1; i >= 0; --i) {
      if (nodes[i].output_size() == 1 && untied_.contains(nodes[i].output(0))) nodes.DeleteSubrange(i, 1);
    }
    for (const auto& [name, value] : untied_) {
      auto& tensor = *graph_.add_initializer();
      tensor.set_name(name);
      tensor_to_onnx(value, tensor);
    }
  }

 private:
  void index(onnx::NodeProto& node) {
    if (!canonical_domain(node.domain()).empty() || node.output_size() != 1) return;
    if (node.op_type() == "Constant" && node.attribute_size() == 1) {
      auto& attribute = *node.mutable_attribute(0);
      if (attribute.name() == "value" && attribute.has_t()) {
        places_[node.output(0)] = {attribute.mutable_t(), nullptr};
      } else if (attribute.name().starts_with("value_")) {
        places_[node.output(0)] = {nullptr, &node};
      }
    }
    if (node.op_type() == "Identity" && node.input_size() == 1) {
      const std::string& from = node.input(0);
      if (places_.contains(from) || aliases_.contains(from)) aliases_[node.output(0)] = from;
    }
  }

  const Place& source(const std::string& alias) const {
    const std::string* name = &alias;
    while (aliases_.contains(*name)) name = &aliases_.at(*name);
    return places_.at(*name);
  }

  // value_float, value_int and their lists.
  static HostTensor short_form(const onnx::NodeProto& constant) {
    const onnx::AttributeProto& attribute = constant.attribute(0);
    if (attribute.name() == "value_float") return HostTensor::scalar<float>(attribute.f());
    if (attribute.name() == "value_int") return HostTensor::scalar<int64_t>(attribute.i());
    if (attribute.name() == "value_floats") {
      return HostTensor::from<float>({attribute.floats_size()}, {attribute.floats().begin(), attribute.floats().end()});
    }
    if (attribute.name() == "value_ints") {
      return HostTensor::from<int64_t>({attribute.ints_size()}, {attribute.ints().begin(), attribute.ints().end()});
    }
    throw Error(ErrorKind::kModel, fmt::format("{} does not hold numbers", describe(constant)));
  }

  static TensorType stored_type(const Place& place) {
    if (place.constant) return short_form(*place.constant).type();
    const auto& dims = place.tensor->dims();
    return {static_cast<DType>(place.tensor->data_type()), Shape(dims.begin(), dims.end())};
  }

  static void store(const Place& place, const HostTensor& value) {
    if (place.tensor) return replace_elements(value, *place.tensor);
    place.constant->clear_attribute();
    attribute_to_onnx("value", value, *place.constant->add_attribute());
  }

  static void check_type(const std::string& name, const TensorType& stored, const HostTensor& value) {
    if (stored == value.type()) return;
    throw Error(ErrorKind::kModel, fmt::format("expected new values for '{}' as the file has it, {}, found {}", name,
                                               stored.text(), value.type().text()));
  }

  onnx::GraphProto& graph_;
  std::map<std::string, Place> places_;
  std::map<std::string, std::string> aliases_;  // output of an Identity -> its input
  std::map<std::string, HostTensor> untied_;
};

void separate_tensor(onnx::GraphProto& graph, const SeparateTensor& edit) {
  const auto makes_it = [&](const onnx::NodeProto& node) {
    return std::find(node.output().begin(), node.output().end(), edit.output) != node.output().end();
  };
  const auto node = std::find_if(graph.mutable_node()->begin(), graph.mutable_node()->end(), makes_it);
  if (node == graph.mutable_node()->end() || edit.input < 0 || edit.input >= node->input_size()) {
    throw Error(
        ErrorKind::kModel,
        fmt::format("expected the file to have a node that makes '{}' with an input {} to give '{}', found none",
                    edit.output, edit.input, edit.name));
  }
  node->set_input(edit.input, edit.name);
  auto& tensor = *graph.add_initializer();
  tensor.set_name(edit.name);
  tensor_to_onnx(edit.value, tensor);
}

// ---- inference form

// Inputs of BatchNormalization. Its outputs 1 and 3 are means, 2 and 4 are variances.
constexpr int kMean = 3, kVariance = 4;

// Nodes that share names: a graph with the subgraphs in its nodes, or the body of a function.
class Scope {
 public:
  explicit Scope(int64_t opset) : opset_(opset) {}

  void add(onnx::GraphProto& graph) {
    graphs_.push_back(&graph);
    for (const auto& output : graph.output()) ++uses_[output.name()];
    add(*graph.mutable_node());
  }

  void add(NodeList& nodes) {
    lists_.push_back(&nodes);
    for (auto& node : nodes) {
      for (const auto& name : node.input()) ++uses_[name];
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) add(*attribute.mutable_g());
        for (auto& graph : *attribute.mutable_graphs()) add(graph);
      }
    }
  }

  void add_use(const std::string& name) { ++uses_[name]; }

  void to_inference_form() {
    for (NodeList* nodes : lists_) {
      std::vector<Copy> copies;
      for (int i = 0; i < nodes->size(); ++i) {
        auto& node = (*nodes)[i];
        if (!canonical_domain(node.domain()).empty()) continue;
        if (node.op_type() == "BatchNormalization") batch_normalization(node, i, copies);
        if (node.op_type() == "Dropout") dropout(node);
      }
      for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) insert(*nodes, *copy);
    }
    erase_dropped();
  }

 private:
  // An Identity that goes directly behind the node at `after`.
  struct Copy {
    int after;
    std::string from, to;
  };

  static void insert(NodeList& nodes, const Copy& copy) {
    onnx::NodeProto& node = *nodes.Add();
    node.set_op_type("Identity");
    node.add_input(copy.from);
    node.add_output(copy.to);
    for (int i = nodes.size() - 1; i > copy.after + 1; --i) nodes.SwapElements(i, i - 1);
  }

  // Training form: before opset 7 is_test = 0; 7 to 13 five outputs; from 14 on training_mode = 1 and three outputs.
  // In inference form the running and the saved statistics that something uses are the ones in force.
  void batch_normalization(onnx::NodeProto& node, int position, std::vector<Copy>& copies) {
    if (opset_ < 7) set_int(node, "is_test", 1);
    erase_attribute(node, "training_mode");
    for (int i = 1; i < node.output_size(); ++i) {
      const std::string& name = node.output(i);
      if (name.empty()) continue;
      const int statistic = i % 2 == 1 ? kMean : kVariance;
      if (uses_[name] == 0) {
        dropped_values_.insert(name);
      } else if (statistic < node.input_size()) {
        copies.push_back({position, node.input(statistic), name});
      }
    }
    node.mutable_output()->DeleteSubrange(1, std::max(0, node.output_size() - 1));
  }

  // Training form: before opset 7 is_test = 0; from 12 on input 2, training_mode, is true. In between there is none.
  void dropout(onnx::NodeProto& node) {
    if (opset_ < 7) set_int(node, "is_test", 1);
    if (opset_ < 12 || node.input_size() < 3) return;
    const std::string mode = node.input(2);
    node.mutable_input()->DeleteSubrange(2, node.input_size() - 2);
    if (node.input(1).empty()) node.mutable_input()->RemoveLast();
    if (!mode.empty() && --uses_[mode] == 0) unused_sources_.insert(mode);
  }

  void erase_dropped() {
    for (NodeList* nodes : lists_) {
      erase_if(*nodes, [&](const onnx::NodeProto& node) {
        return node.op_type() == "Constant" && node.output_size() == 1 && unused_sources_.contains(node.output(0));
      });
    }
    for (onnx::GraphProto* graph : graphs_) {
      const auto& initializers = graph->initializer();
      const std::set<std::string> stored = [&] {
        std::set<std::string> names;
        for (const auto& tensor : initializers) names.insert(tensor.name());
        return names;
      }();
      const auto unused = [&](const auto& item) {
        return unused_sources_.contains(item.name()) && stored.contains(item.name());
      };
      erase_if(*graph->mutable_input(), unused);  // an initializer may also be listed as an input
      erase_if(*graph->mutable_initializer(), unused);
      erase_if(*graph->mutable_value_info(), [&](const onnx::ValueInfoProto& info) {
        return dropped_values_.contains(info.name()) || unused_sources_.contains(info.name());
      });
    }
  }

  template <typename List, typename Predicate>
  static void erase_if(List& list, Predicate predicate) {
    for (int i = list.size() - 1; i >= 0; --i) {
      if (predicate(list[i])) list.DeleteSubrange(i, 1);
    }
  }

  int64_t opset_;
  std::vector<onnx::GraphProto*> graphs_;
  std::vector<NodeList*> lists_;
  std::map<std::string, int> uses_;
  std::set<std::string> dropped_values_;
  std::set<std::string> unused_sources_;  // what only told a Dropout to train
};

void to_inference_form(onnx::ModelProto& model) {
  Scope main(standard_opset(model.opset_import()));
  main.add(*model.mutable_graph());
  main.to_inference_form();
  for (auto& function : *model.mutable_functions()) {
    Scope body(standard_opset(function.opset_import()));
    body.add(*function.mutable_node());
    for (const auto& name : function.output()) body.add_use(name);
    body.to_inference_form();
  }
}

// Before IR 4 every initializer is among the inputs.
void list_initializers_as_inputs(onnx::GraphProto& graph) {
  std::set<std::string> listed;
  for (const auto& input : graph.input()) listed.insert(input.name());
  for (const auto& tensor : graph.initializer()) {
    if (listed.contains(tensor.name())) continue;
    auto& input = *graph.add_input();
    input.set_name(tensor.name());
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    type.mutable_shape();
    for (const int64_t size : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(size);
  }
}

}  // namespace

void apply_edits(onnx::ModelProto& model, const ModelEdits& edits) {
  TensorEditor tensors(*model.mutable_graph());
  for (const auto& [name, value] : edits.tensors) tensors.replace(name, value);
  tensors.finish();
  for (const SeparateTensor& tensor : edits.separate) separate_tensor(*model.mutable_graph(), tensor);
  if (edits.inference_form) to_inference_form(model);
  if (model.ir_version() < 4) list_initializers_as_inputs(*model.mutable_graph());
}

}  // namespace onward
