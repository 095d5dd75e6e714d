// Files that hold one TensorProto.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "graph/error.h"
#include "graph/onnx_convert.h"
#include "graph/tensor_file.h"

namespace onward {

HostTensor tensor_from_pb(const std::string& bytes, const std::string& name) {
  onnx::TensorProto message;
  // A TensorProto always says its type; an empty file parses, as a message without fields.
  if (!message.ParseFromString(bytes) || !message.has_data_type()) {
    throw Error(ErrorKind::kData,
                fmt::format("expected a TensorProto, found {} bytes that are none, in '{}'", bytes.size(), name));
  }
  try {
    return tensor_from_onnx(message);
  } catch (const Error& error) {
    throw Error(ErrorKind::kData, fmt::format("{}; in '{}'", error.message(), name));
  }
}

std::string tensor_to_pb(const HostTensor& tensor) {
  onnx::TensorProto message;
  tensor_to_onnx(tensor, message);
  return message.SerializeAsString();
}

}  // namespace onward
