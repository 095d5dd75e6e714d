// External data: tensors whose bytes lie in a file beside the model, named by key-value pairs (location, offset,
// length). They are brought inline when a model is loaded, so that nothing after the loading knows of them.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "graph/file_io.h"
#include "graph/onnx_convert.h"

namespace onward {
namespace {

uint64_t parse_number(const std::string& key, const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected a number of bytes as '{}' of external data, found '{}'", key, text));
  }
  return number;
}

struct Location {
  std::string file;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Location parse_location(const onnx::TensorProto& tensor) {
  Location location;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location.file = entry.value();
    if (entry.key() == "offset") location.offset = parse_number("offset", entry.value());
    if (entry.key() == "length") location.length = parse_number("length", entry.value());
  }
  return location;
}

// A model may come from anywhere: it names files of its own folder only.
void check_inside(const std::filesystem::path& file) {
  const bool climbs = std::any_of(file.begin(), file.end(), [](const auto& part) { return part == ".."; });
  if (file.empty() || file.is_absolute() || climbs) {
    throw Error(
        ErrorKind::kModel,
        fmt::format("expected external data in a file beside the model, found the location '{}'; absolute paths and "
                    "'..' are refused",
                    file.string()));
  }
}

void read_external(onnx::TensorProto& tensor, const std::string& folder) {
  const Location location = parse_location(tensor);
  check_inside(location.file);
  const std::string path = (std::filesystem::path(folder) / location.file).string();
  const uint64_t size = file_size(path, ErrorKind::kModel);
  const uint64_t length = location.length.value_or(size - std::min(size, location.offset));
  tensor.set_raw_data(read_file_range(path, location.offset, length, ErrorKind::kModel));
  tensor.clear_data_location();
  tensor.clear_external_data();
}

class Inliner {
 public:
  explicit Inliner(const std::string& folder) : folder_(folder) {}

  void visit(onnx::GraphProto& graph) {
    for (auto& tensor : *graph.mutable_initializer()) visit(tensor);
    for (auto& sparse : *graph.mutable_sparse_initializer()) visit(sparse);
    for (auto& node : *graph.mutable_node()) visit(node);
  }

  void visit(onnx::NodeProto& node) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) visit(*attribute.mutable_t());
      if (attribute.has_g()) visit(*attribute.mutable_g());
      if (attribute.has_sparse_tensor()) visit(*attribute.mutable_sparse_tensor());
      for (auto& tensor : *attribute.mutable_tensors()) visit(tensor);
      for (auto& graph : *attribute.mutable_graphs()) visit(graph);
      for (auto& sparse : *attribute.mutable_sparse_tensors()) visit(sparse);
    }
  }

 private:
  void visit(onnx::TensorProto& tensor) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    try {
      read_external(tensor, folder_);
    } catch (Error& error) {
      throw error.note(fmt::format("in the external data of the tensor '{}'", tensor.name()));
    }
  }

  void visit(onnx::SparseTensorProto& sparse) {
    if (sparse.has_values()) visit(*sparse.mutable_values());
    if (sparse.has_indices()) visit(*sparse.mutable_indices());
  }

  const std::string& folder_;
};

}  // namespace

void inline_external_data(onnx::ModelProto& model, const std::string& folder) {
  Inliner inliner(folder);
  inliner.visit(*model.mutable_graph());
  for (auto& function : *model.mutable_functions()) {
    for (auto& node : *function.mutable_node()) inliner.visit(node);
  }
  for (auto& training : *model.mutable_training_info()) {
    if (training.has_initialization()) inliner.visit(*training.mutable_initialization());
    if (training.has_algorithm()) inliner.visit(*training.mutable_algorithm());
  }
}

}  // namespace onward
