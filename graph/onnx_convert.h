#pragma once
// Between the messages of an .onnx file and the program's own types. Only the ONNX sources of this folder include it;
// the messages are declared here, not included, so that Protocol Buffers stays inside those sources.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/model.h"

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace onward {

struct Model::Impl {
  Impl();
  ~Impl();

  std::unique_ptr<onnx::ModelProto> proto;  // all tensor data inline
  std::string path;                         // "" if not from a file
  Graph graph;                              // made once, so that every Graph handed out shares the weights
  std::map<OpId, Function> functions;
};

// Imports the message; `path` is for messages and Model::path().
Model make_model(std::unique_ptr<onnx::ModelProto> proto, const std::string& path);

// ---- tensors
// Whether HostTensor can hold the element type (not: strings, 8-bit and 4-bit floats, types newer than this program).
bool can_hold(const onnx::TensorProto& tensor);
// Error(kModel): data of another size than the shape asks for, an unreadable shape, external data that was not
// resolved.
HostTensor tensor_from_onnx(const onnx::TensorProto& tensor);
// Sets element type, dimensions and raw data.
void tensor_to_onnx(const HostTensor& tensor, onnx::TensorProto& message);
// New elements for a tensor of the same type and shape: raw data stays raw, typed fields stay typed.
void replace_elements(const HostTensor& tensor, onnx::TensorProto& message);

// Reads the external data of every tensor of the model, from files in `folder`, and stores it inline.
// Error(kModel): see Model::load.
void inline_external_data(onnx::ModelProto& model, const std::string& folder);

// ---- attributes
Attribute attribute_from_onnx(const onnx::AttributeProto& message);
void attribute_to_onnx(const std::string& name, const Attribute& attribute, onnx::AttributeProto& message);

// ---- graphs
// "ai.onnx" is another way to write the default domain.
std::string canonical_domain(const std::string& domain);
Graph graph_from_onnx(const onnx::ModelProto& model);
// What calls of the function name as their op: its name, and ":overload" if it has one.
OpId function_id(const onnx::FunctionProto& message);
Model::Function function_from_onnx(const onnx::FunctionProto& message);
std::unique_ptr<onnx::ModelProto> graph_to_onnx(const Graph& graph, const std::map<std::string, std::string>& metadata);

// ---- edits
void apply_edits(onnx::ModelProto& model, const ModelEdits& edits);

}  // namespace onward
