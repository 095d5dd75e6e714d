#include "graph/model.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <climits>
#include <filesystem>

#include "graph/error.h"
#include "graph/file_io.h"
#include "graph/onnx_convert.h"

namespace onward {
namespace {

// Protocol Buffers cannot read or write a message of 2 GiB or more.
constexpr std::size_t kMaxBytes = INT_MAX;

std::unique_ptr<onnx::ModelProto> parse(const std::string& bytes) {
  if (bytes.empty()) throw Error(ErrorKind::kModel, "expected an ONNX model, found an empty file");
  if (bytes.size() > kMaxBytes) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected an ONNX file of less than 2 GiB, found {} bytes; larger models keep "
                            "their weights as external data",
                            bytes.size()));
  }
  auto model = std::make_unique<onnx::ModelProto>();
  if (!model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected an ONNX model, found {} bytes that do not parse as one: the file is "
                            "truncated, damaged or of another kind",
                            bytes.size()));
  }
  if (!model->has_graph()) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected an ONNX model, found {} bytes without a graph: the file is truncated or "
                            "of another kind",
                            bytes.size()));
  }
  return model;
}

}  // namespace

Model::Impl::Impl() = default;
Model::Impl::~Impl() = default;

Model make_model(std::unique_ptr<onnx::ModelProto> proto, const std::string& path) {
  auto impl = std::make_shared<Model::Impl>();
  impl->proto = std::move(proto);
  impl->path = path;
  impl->graph = graph_from_onnx(*impl->proto);
  for (const auto& message : impl->proto->functions()) {
    const OpId id = function_id(message);
    if (!impl->functions.emplace(id, function_from_onnx(message)).second) {
      throw Error(ErrorKind::kModel,
                  fmt::format("expected one function {}, found two of that name and overload", to_string(id)));
    }
  }
  return Model(impl);
}

Model::Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Model Model::load(const std::string& path) {
  const std::string bytes = read_file(path, ErrorKind::kModel);
  try {
    auto proto = parse(bytes);
    inline_external_data(*proto, std::filesystem::path(path).parent_path().string());
    return make_model(std::move(proto), path);
  } catch (Error& error) {
    throw error.note(fmt::format("in the file '{}'", path));
  }
}

Model Model::from_bytes(const std::string& bytes, const std::string& name) {
  try {
    return make_model(parse(bytes), "");
  } catch (Error& error) {
    throw error.note(fmt::format("in {}", name));
  }
}

Model Model::from_graph(const Graph& graph, const std::map<std::string, std::string>& metadata) {
  return make_model(graph_to_onnx(graph, metadata), "");
}

Graph Model::graph() const { return impl_->graph.clone(); }

const Model::Function* Model::function(const OpId& op) const {
  const auto found = impl_->functions.find(op);
  return found == impl_->functions.end() ? nullptr : &found->second;
}

Model Model::edited(const ModelEdits& edits) const {
  auto proto = std::make_unique<onnx::ModelProto>(*impl_->proto);
  apply_edits(*proto, edits);
  return make_model(std::move(proto), impl_->path);
}

std::string Model::bytes() const {
  const std::size_t size = impl_->proto->ByteSizeLong();
  if (size > kMaxBytes) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected a model of less than 2 GiB to write into one ONNX file, found {} bytes", size));
  }
  return impl_->proto->SerializeAsString();
}

void Model::save(const std::string& path) const { write_file(path, bytes()); }

int64_t Model::ir_version() const { return impl_->proto->ir_version(); }

std::string Model::metadata(const std::string& key) const {
  for (const auto& entry : impl_->proto->metadata_props()) {
    if (entry.key() == key) return entry.value();
  }
  return "";
}

const std::string& Model::path() const { return impl_->path; }

std::vector<std::string> Model::initializers() const {
  std::vector<std::string> names;
  for (const auto& tensor : impl_->proto->graph().initializer()) names.push_back(tensor.name());
  return names;
}

}  // namespace onward
