#pragma once
#include <string>
#include <vector>

namespace onward::test {

// The bytes of a ModelProto written in Protocol Buffers' text format. Throws std::invalid_argument on a mistake in the
// text.
std::string model_bytes(const std::string& text);
// As model_bytes; what follows a colon in the name of a function or of what a node calls becomes the overload. The
// field is newer than the ONNX messages of some systems.
std::string overloaded_model_bytes(const std::string& text);
// As model_bytes, for the text of a GraphProto, with IR version 8 and the given version of the standard operators.
std::string graph_bytes(const std::string& graph_text, int opset = 17);
// The text of a serialised ModelProto.
std::string model_text(const std::string& bytes);
// Whether two serialised ModelProtos hold the same messages.
bool same_model(const std::string& a, const std::string& b);

// What ONNX's own checker objects to in a serialised ModelProto, "" if nothing. It lets ops of unknown domains pass.
std::string checker_message(const std::string& bytes);

// What a Graph holds of a serialised ModelProto, as text in a normal form: names and order of inputs (without
// initializers), outputs, initializers and nodes, attributes by name, tensors as raw data, types. Two files with equal
// text have the same graph.
std::string graph_summary(const std::string& bytes);

// Bytes of a TensorProto in text format.
std::string tensor_bytes(const std::string& text);

// The model.onnx files of libonnx-testdata; empty if the package is not installed.
std::vector<std::string> onnx_test_models();

}  // namespace onward::test
