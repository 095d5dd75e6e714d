// Graph -> ModelProto, weights inline.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>

#include "graph/onnx_convert.h"

namespace onward {
namespace {

constexpr int64_t kDefaultOpset = 17;

// The IR version that an operator set came with (ONNX, docs/Versioning.md); at least 8, the first with functions,
// because readers refuse a file whose opsets are newer than its IR.
int64_t ir_version_for(int64_t opset) {
  constexpr std::pair<int64_t, int64_t> kFirstOpset[] = {{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}};
  for (const auto& [first, ir] : kFirstOpset) {
    if (opset >= first) return ir;
  }
  return 8;
}

void type_to_onnx(const TensorType& type, onnx::ValueInfoProto& message) {
  if (type.dtype == DType::kUndefined) return;
  auto& tensor = *message.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int32_t>(type.dtype));
  if (!type.dims) return;
  auto& shape = *tensor.mutable_shape();
  for (const Dim& dim : *type.dims) {
    auto& entry = *shape.add_dim();
    if (dim.known())
      entry.set_dim_value(dim.value);
    else if (!dim.name.empty())
      entry.set_dim_param(dim.name);
  }
}

void declare(const Value& value, onnx::ValueInfoProto& message) {
  message.set_name(value.name());
  type_to_onnx(value.type, message);
}

void node_to_onnx(const Node& node, onnx::NodeProto& message) {
  for (const Value* value : node.inputs()) message.add_input(value ? value->name() : "");
  for (const Value* value : node.outputs()) message.add_output(value ? value->name() : "");
  if (!node.name.empty()) message.set_name(node.name);
  message.set_op_type(node.op().name);
  if (!node.op().domain.empty()) message.set_domain(node.op().domain);
  const std::string& doc = node.doc.empty() ? node.origin : node.doc;
  if (!doc.empty()) message.set_doc_string(doc);
  for (const auto& [name, attribute] : node.attributes) attribute_to_onnx(name, attribute, *message.add_attribute());
}

// Every domain that a node names must be imported; domains that the graph does not list are at version 1.
std::map<std::string, int64_t> imports_of(const Graph& graph) {
  std::map<std::string, int64_t> imports = graph.opsets;
  if (imports.empty()) imports[""] = kDefaultOpset;
  for (const auto& node : graph.nodes()) {
    const std::string& domain = node->op().domain;
    imports.try_emplace(domain, domain.empty() ? kDefaultOpset : 1);
  }
  return imports;
}

// A step of the program assigns new values to parameters and state. ONNX says so by training information whose
// algorithm adds nothing to the graph and whose bindings name outputs of the graph (onnx.proto,
// TrainingInfoProto.update_binding).
void updates_to_onnx(const Graph& graph, onnx::ModelProto& model) {
  if (graph.updates().empty()) return;
  auto& training = *model.add_training_info();
  training.mutable_algorithm()->set_name("step");
  for (const StateUpdate& update : graph.updates()) {
    auto& binding = *training.add_update_binding();
    binding.set_key(update.state->name());
    binding.set_value(update.updated->name());
  }
}

// The outputs, and the new values of parameters and state, which bindings may name only if they are outputs.
std::vector<const Value*> outputs_of(const Graph& graph) {
  std::vector<const Value*> outputs(graph.outputs().begin(), graph.outputs().end());
  for (const StateUpdate& update : graph.updates()) {
    if (!graph.is_output(*update.updated)) outputs.push_back(update.updated);
  }
  return outputs;
}

void graph_to_onnx(const Graph& graph, onnx::GraphProto& message) {
  message.set_name(graph.name.empty() ? "graph" : graph.name);
  if (!graph.doc.empty()) message.set_doc_string(graph.doc);
  for (const Value* value : graph.inputs()) declare(*value, *message.add_input());
  std::set<const Value*> listed;
  for (const Value* value : outputs_of(graph)) {
    if (listed.insert(value).second) declare(*value, *message.add_output());
  }
  for (const Value* value : graph.value_list()) {
    if (!value->data.empty()) {
      auto& tensor = *message.add_initializer();
      tensor.set_name(value->name());
      tensor_to_onnx(value->data, tensor);
    } else if (value->producer() && !listed.contains(value) && value->type.dtype != DType::kUndefined) {
      declare(*value, *message.add_value_info());
    }
  }
  for (const auto& node : graph.nodes()) node_to_onnx(*node, *message.add_node());
}

}  // namespace

std::unique_ptr<onnx::ModelProto> graph_to_onnx(const Graph& graph,
                                                const std::map<std::string, std::string>& metadata) {
  auto model = std::make_unique<onnx::ModelProto>();
  for (const auto& [domain, version] : imports_of(graph)) {
    auto& import = *model->add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
    model->set_ir_version(std::max(model->ir_version(), ir_version_for(domain.empty() ? version : 0)));
  }
  model->set_producer_name("onward");
  graph_to_onnx(graph, *model->mutable_graph());
  updates_to_onnx(graph, *model);
  for (const auto& [key, value] : metadata) {
    auto& entry = *model->add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  return model;
}

}  // namespace onward
