// AttributeProto and Attribute. What the program does not interpret (subgraphs, sparse tensors, types, strings in
// tensors, kinds newer than this program) is kept as the bytes of the message.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "graph/error.h"
#include "graph/onnx_convert.h"

namespace onward {
namespace {

using Kind = onnx::AttributeProto;

// Files of the first IR versions leave the kind to the field that is set.
Kind::AttributeType kind_of(const onnx::AttributeProto& message) {
  if (message.has_type()) return message.type();
  if (message.has_f()) return Kind::FLOAT;
  if (message.has_i()) return Kind::INT;
  if (message.has_s()) return Kind::STRING;
  if (message.has_t()) return Kind::TENSOR;
  if (message.ints_size()) return Kind::INTS;
  if (message.floats_size()) return Kind::FLOATS;
  if (message.strings_size()) return Kind::STRINGS;
  return Kind::UNDEFINED;
}

struct Writer {
  onnx::AttributeProto& message;

  void operator()(int64_t v) const { message.set_type(Kind::INT), message.set_i(v); }
  void operator()(float v) const { message.set_type(Kind::FLOAT), message.set_f(v); }
  void operator()(double v) const { (*this)(static_cast<float>(v)); }
  void operator()(const std::string& v) const { message.set_type(Kind::STRING), message.set_s(v); }
  void operator()(const std::vector<int64_t>& v) const {
    message.set_type(Kind::INTS);
    message.mutable_ints()->Assign(v.begin(), v.end());
  }
  void operator()(const std::vector<float>& v) const {
    message.set_type(Kind::FLOATS);
    message.mutable_floats()->Assign(v.begin(), v.end());
  }
  void operator()(const std::vector<std::string>& v) const {
    message.set_type(Kind::STRINGS);
    for (const std::string& text : v) message.add_strings(text);
  }
  void operator()(const HostTensor& v) const {
    message.set_type(Kind::TENSOR);
    tensor_to_onnx(v, *message.mutable_t());
  }
  void operator()(const OpaqueAttribute& v) const {
    if (!message.ParseFromString(v.bytes)) {
      throw Error(ErrorKind::kModel,
                  fmt::format("the kept bytes of the attribute '{}' are not an AttributeProto", message.name()));
    }
  }
  void operator()(const AttributeReference& v) const { message.set_ref_attr_name(v.name); }
};

}  // namespace

Attribute attribute_from_onnx(const onnx::AttributeProto& message) {
  if (!message.ref_attr_name().empty()) return AttributeReference{message.ref_attr_name()};
  switch (kind_of(message)) {
    case Kind::FLOAT: return message.f();
    case Kind::INT: return static_cast<int64_t>(message.i());
    case Kind::STRING: return message.s();
    case Kind::FLOATS: return std::vector<float>(message.floats().begin(), message.floats().end());
    case Kind::INTS: return std::vector<int64_t>(message.ints().begin(), message.ints().end());
    case Kind::STRINGS: return std::vector<std::string>(message.strings().begin(), message.strings().end());
    case Kind::TENSOR:
      if (can_hold(message.t())) return tensor_from_onnx(message.t());
      break;
    default: break;
  }
  return OpaqueAttribute{message.SerializeAsString()};
}

void attribute_to_onnx(const std::string& name, const Attribute& attribute, onnx::AttributeProto& message) {
  std::visit(Writer{message}, attribute);
  message.set_name(name);
}

}  // namespace onward
