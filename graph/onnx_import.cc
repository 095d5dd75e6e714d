// GraphProto -> Graph. Names become links here; from here on nothing is looked up by name.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <unordered_set>

#include "graph/error.h"
#include "graph/onnx_convert.h"

namespace onward {
namespace {

template <typename... Args>
Error model_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::kModel, fmt::format(format, std::forward<Args>(args)...));
}

// Sequences, optional values, maps and sparse tensors have no TensorType: they stay undefined.
TensorType type_from_onnx(const onnx::TypeProto& message) {
  TensorType type;
  if (!message.has_tensor_type()) return type;
  const auto& tensor = message.tensor_type();
  if (tensor.elem_type() > 0 && tensor.elem_type() <= 255) type.dtype = static_cast<DType>(tensor.elem_type());
  if (!tensor.has_shape()) return type;
  type.dims.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      type.dims->emplace_back(dim.dim_value());
    } else {
      type.dims->emplace_back(Dim(dim.dim_param()));
    }
  }
  return type;
}

// A text field that is newer than the messages of older ONNX libraries, in which it is an unknown field.
std::string newer_text(const google::protobuf::Message& message, int number) {
  const auto& reflection = *message.GetReflection();
  if (const auto* field = message.GetDescriptor()->FindFieldByNumber(number))
    return reflection.GetString(message, field);
  const google::protobuf::UnknownFieldSet& fields = reflection.GetUnknownFields(message);
  std::string text;
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      text = field.length_delimited();
  }
  return text;
}

// From IR version 10 on functions of one name may differ by their overload, and a call says which it means.
OpId with_overload(const std::string& domain, const std::string& name, const std::string& overload) {
  return {canonical_domain(domain), overload.empty() ? name : name + ":" + overload};
}

OpId op_of(const onnx::NodeProto& node) {
  constexpr int kOverloadField = 8;
  return with_overload(node.domain(), node.op_type(), newer_text(node, kOverloadField));
}

std::string describe(const onnx::NodeProto& node) {
  const std::string op = to_string(op_of(node));
  if (!node.name().empty()) return fmt::format("{} ({})", node.name(), op);
  return node.output_size() ? fmt::format("{} -> {}", op, node.output(0)) : op;
}

class Importer {
 public:
  void input(const std::string& name, TensorType type) { graph_.add_input(checked(name, "an input"), std::move(type)); }

  void initializer(const onnx::TensorProto& tensor) {
    const std::string& name = checked(tensor.name(), "an initializer");
    try {
      if (can_hold(tensor)) {
        graph_.add_data(name, tensor_from_onnx(tensor));
        return;
      }
    } catch (Error& error) {
      throw error.note(fmt::format("in the initializer '{}'", name));
    }
    onnx::AttributeProto attribute;
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = tensor;
    opaque_constant(name, "value", attribute);
  }

  void initializer(const onnx::SparseTensorProto& sparse) {
    onnx::AttributeProto attribute;
    attribute.set_type(onnx::AttributeProto::SPARSE_TENSOR);
    *attribute.mutable_sparse_tensor() = sparse;
    opaque_constant(checked(sparse.values().name(), "a sparse initializer"), "sparse_value", attribute);
  }

  void node(const onnx::NodeProto& message) {
    std::vector<Value*> inputs;
    for (const std::string& name : message.input()) inputs.push_back(name.empty() ? nullptr : find(name, message));
    std::vector<std::string> outputs;
    for (const std::string& name : message.output()) {
      if (!name.empty()) checked(name, describe(message));
      outputs.push_back(name);
    }
    Node& node = graph_.add_node(op_of(message), std::move(inputs), outputs, attributes(message));
    node.name = message.name();
    node.doc = message.doc_string();
  }

  void declare(const onnx::ValueInfoProto& info) {
    Value* value = graph_.find_value(info.name());
    if (value && value->producer() && info.has_type()) value->type = type_from_onnx(info.type());
  }

  void output(const std::string& name) {
    Value* value = graph_.find_value(name);
    if (!value) throw model_error("expected something to make the output '{}', found nothing", name);
    graph_.add_output(*value);
  }

  Graph& graph() { return graph_; }

 private:
  // The Constant node that stands for a tensor this program does not interpret.
  void opaque_constant(const std::string& name, const char* attribute_name, onnx::AttributeProto& attribute) {
    attribute.set_name(attribute_name);
    graph_.add_node({"", "Constant"}, {}, {name}, {{attribute_name, OpaqueAttribute{attribute.SerializeAsString()}}});
  }

  const std::string& checked(const std::string& name, const std::string& what) const {
    if (name.empty()) throw model_error("expected a name for {}, found none", what);
    if (graph_.find_value(name)) throw model_error("expected one definition of '{}', found a second: {}", name, what);
    return name;
  }

  Value* find(const std::string& name, const onnx::NodeProto& reader) const {
    if (Value* value = graph_.find_value(name)) return value;
    throw model_error("{} reads '{}', which nothing before it makes", describe(reader), name);
  }

  Attributes attributes(const onnx::NodeProto& message) const {
    Attributes out;
    for (const auto& attribute : message.attribute()) {
      if (out.has(attribute.name()))
        throw model_error("{} has the attribute '{}' twice", describe(message), attribute.name());
      try {
        out.set(attribute.name(), attribute_from_onnx(attribute));
      } catch (Error& error) {
        throw error.note(fmt::format("in the attribute '{}' of {}", attribute.name(), describe(message)));
      }
    }
    return out;
  }

  Graph graph_;
};

template <typename List>
std::map<std::string, int64_t> opsets_of(const List& imports) {
  std::map<std::string, int64_t> opsets;
  for (const auto& import : imports) opsets[canonical_domain(import.domain())] = import.version();
  return opsets;
}

// The first two IR versions imply version 1 of the standard operators. A later file that imports none was cut off: the
// imports come after the graph.
void check_standard_opset(const onnx::ModelProto& model, Graph& graph) {
  if (graph.opsets.contains("")) return;
  if (model.ir_version() < 3) {
    graph.opsets[""] = 1;
    return;
  }
  for (const auto& node : model.graph().node()) {
    if (canonical_domain(node.domain()).empty()) {
      throw model_error(
          "expected an opset_import for the standard operators, which {} needs, found none; the file may be "
          "truncated",
          describe(node));
    }
  }
}

// Attributes of a function that have a default. The field is newer than the messages of older ONNX libraries, in which
// it is an unknown field; reading the message back as nothing but unknown fields serves every version.
std::map<std::string, Attribute> defaults_of(const onnx::FunctionProto& message) {
  constexpr int kAttributeProtoField = 11;
  google::protobuf::UnknownFieldSet fields;
  fields.ParseFromString(message.SerializeAsString());
  std::map<std::string, Attribute> defaults;
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() != kAttributeProtoField || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    onnx::AttributeProto attribute;
    if (!attribute.ParseFromString(field.length_delimited())) {
      throw model_error("the default of an attribute of the function '{}' cannot be read", message.name());
    }
    defaults.emplace(attribute.name(), attribute_from_onnx(attribute));
  }
  return defaults;
}

}  // namespace

OpId function_id(const onnx::FunctionProto& message) {
  constexpr int kOverloadField = 13;
  return with_overload(message.domain(), message.name(), newer_text(message, kOverloadField));
}

std::string canonical_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

Graph graph_from_onnx(const onnx::ModelProto& model) {
  const onnx::GraphProto& message = model.graph();
  Importer importer;
  importer.graph().name = message.name();
  importer.graph().doc = message.doc_string();
  importer.graph().opsets = opsets_of(model.opset_import());
  check_standard_opset(model, importer.graph());

  std::unordered_set<std::string> stored;
  for (const auto& tensor : message.initializer()) stored.insert(tensor.name());
  for (const auto& sparse : message.sparse_initializer()) stored.insert(sparse.values().name());
  for (const auto& input : message.input()) {
    if (!stored.contains(input.name())) importer.input(input.name(), type_from_onnx(input.type()));
  }
  for (const auto& tensor : message.initializer()) importer.initializer(tensor);
  for (const auto& sparse : message.sparse_initializer()) importer.initializer(sparse);
  for (const auto& node : message.node()) importer.node(node);
  for (const auto& info : message.value_info()) importer.declare(info);
  for (const auto& output : message.output()) {
    importer.declare(output);
    importer.output(output.name());
  }
  return std::move(importer.graph());
}

Model::Function function_from_onnx(const onnx::FunctionProto& message) {
  try {
    Importer importer;
    importer.graph().name = message.name();
    importer.graph().doc = message.doc_string();
    importer.graph().opsets = opsets_of(message.opset_import());
    for (const auto& name : message.input()) importer.input(name, {});
    for (const auto& node : message.node()) importer.node(node);
    for (const auto& name : message.output()) importer.output(name);
    Model::Function function{
        std::move(importer.graph()), {message.attribute().begin(), message.attribute().end()}, defaults_of(message)};
    for (const auto& [name, value] : function.defaults) function.attributes.push_back(name);
    return function;
  } catch (Error& error) {
    throw error.note(fmt::format("in the function {}", to_string(function_id(message))));
  }
}

}  // namespace onward
