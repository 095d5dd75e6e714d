#include "tests/support/onnx_text.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/message_differencer.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

namespace onward::test {
namespace {

template <typename Message>
Message parse_text(const std::string& text) {
  Message message;
  if (!google::protobuf::TextFormat::ParseFromString(text, &message))
    throw std::invalid_argument("bad text format: " + text);
  return message;
}

onnx::ModelProto parse(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) throw std::invalid_argument("not a ModelProto");
  return model;
}

void split_overload(google::protobuf::Message& message, std::string& name, int field_number) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return;
  const std::string overload = name.substr(colon + 1);
  name.resize(colon);
  const auto& reflection = *message.GetReflection();
  if (const auto* field = message.GetDescriptor()->FindFieldByNumber(field_number)) {
    reflection.SetString(&message, field, overload);
  } else {
    reflection.MutableUnknownFields(&message)->AddLengthDelimited(field_number, overload);
  }
}

template <typename Element, typename List>
void append_raw(const List& list, std::string& raw) {
  for (const auto& item : list) {
    const auto element = static_cast<Element>(item);
    raw.append(reinterpret_cast<const char*>(&element), sizeof(element));
  }
}

void make_raw(onnx::TensorProto& tensor) {
  std::string raw = tensor.raw_data();
  append_raw<float>(tensor.float_data(), raw);
  append_raw<double>(tensor.double_data(), raw);
  append_raw<int64_t>(tensor.int64_data(), raw);
  using T = onnx::TensorProto;
  switch (tensor.data_type()) {
    case T::UINT32: append_raw<uint32_t>(tensor.uint64_data(), raw); break;
    case T::UINT64: append_raw<uint64_t>(tensor.uint64_data(), raw); break;
    case T::INT32: append_raw<int32_t>(tensor.int32_data(), raw); break;
    case T::INT8:
    case T::UINT8:
    case T::BOOL: append_raw<uint8_t>(tensor.int32_data(), raw); break;
    default: append_raw<uint16_t>(tensor.int32_data(), raw);
  }
  onnx::TensorProto out;
  out.set_name(tensor.name());
  out.set_data_type(tensor.data_type());
  *out.mutable_dims() = tensor.dims();
  *out.mutable_string_data() = tensor.string_data();
  out.set_raw_data(raw);
  tensor = out;
}

std::string attribute_line(onnx::AttributeProto attribute) {
  attribute.clear_doc_string();
  if (attribute.has_t() && attribute.t().data_type() != onnx::TensorProto::STRING) {
    make_raw(*attribute.mutable_t());
    attribute.mutable_t()->clear_name();
  }
  return "  " + attribute.ShortDebugString() + "\n";
}

void declare(const onnx::ValueInfoProto& info, const char* what, std::string& text) {
  onnx::TypeProto type = info.type();
  if (!type.has_tensor_type() || type.tensor_type().elem_type() == 0) type.Clear();
  type.clear_denotation();
  for (auto& dim : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) dim.clear_denotation();
  if (!info.type().tensor_type().has_shape()) type.mutable_tensor_type()->clear_shape();
  if (!info.type().has_tensor_type()) type.Clear();
  text += std::string(what) + " " + info.name() + ": " + type.ShortDebugString() + "\n";
}

}  // namespace

std::string model_bytes(const std::string& text) { return parse_text<onnx::ModelProto>(text).SerializeAsString(); }

std::string overloaded_model_bytes(const std::string& text) {
  auto model = parse_text<onnx::ModelProto>(text);
  const auto split_nodes = [](auto& nodes) {
    for (auto& node : nodes) split_overload(node, *node.mutable_op_type(), 8);
  };
  split_nodes(*model.mutable_graph()->mutable_node());
  for (auto& function : *model.mutable_functions()) {
    split_overload(function, *function.mutable_name(), 13);
    split_nodes(*function.mutable_node());
  }
  return model.SerializeAsString();
}

std::string graph_bytes(const std::string& graph_text, int opset) {
  return model_bytes("ir_version: 8 opset_import { version: " + std::to_string(opset) + " } graph { " + graph_text +
                     " }");
}

std::string tensor_bytes(const std::string& text) { return parse_text<onnx::TensorProto>(text).SerializeAsString(); }

std::string model_text(const std::string& bytes) { return parse(bytes).DebugString(); }

bool same_model(const std::string& a, const std::string& b) {
  return google::protobuf::util::MessageDifferencer::Equals(parse(a), parse(b));
}

std::string checker_message(const std::string& bytes) {
  try {
    onnx::checker::check_model(parse(bytes));
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string graph_summary(const std::string& bytes) {
  onnx::ModelProto model = parse(bytes);
  onnx::GraphProto& graph = *model.mutable_graph();
  std::string text = graph.name() + "\n" + graph.doc_string() + "\n";
  std::set<std::string> stored, made;
  for (auto& tensor : *graph.mutable_initializer()) {
    if (tensor.data_type() != onnx::TensorProto::STRING) make_raw(tensor);
    stored.insert(tensor.name());
    text += "initializer " + tensor.ShortDebugString() + "\n";
  }
  for (const auto& input : graph.input()) {
    if (!stored.contains(input.name())) declare(input, "input", text);
  }
  for (const auto& node : graph.node()) {
    text += node.name() + " = " + node.domain() + "::" + node.op_type() + " " + node.doc_string() + "\n";
    for (const auto& name : node.input()) text += "  <- " + name + "\n";
    for (const auto& name : node.output()) text += "  -> " + name + "\n", made.insert(name);
    std::vector<std::string> attributes;
    for (const auto& attribute : node.attribute()) attributes.push_back(attribute_line(attribute));
    std::sort(attributes.begin(), attributes.end());
    for (const auto& line : attributes) text += line;
  }
  for (const auto& output : graph.output()) declare(output, "output", text), made.erase(output.name());
  std::map<std::string, const onnx::ValueInfoProto*> infos;
  for (const auto& info : graph.value_info()) {
    if (made.contains(info.name())) infos[info.name()] = &info;
  }
  for (const auto& [name, info] : infos) declare(*info, "value", text);
  std::map<std::string, int64_t> imports;
  for (const auto& import : model.opset_import()) imports[import.domain()] = import.version();
  for (const auto& [domain, version] : imports) text += "import " + domain + " " + std::to_string(version) + "\n";
  return text;
}

std::vector<std::string> onnx_test_models() {
  std::vector<std::string> paths;
  const std::filesystem::path root = "/usr/share/libonnx-testdata/data";
  if (!std::filesystem::exists(root)) return paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename() == "model.onnx") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace onward::test
