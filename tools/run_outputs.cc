#include "tools/run_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/atomic_file.h"
#include "graph/error.h"
#include "graph/tensor_file.h"

namespace onward::cli {

namespace {

std::size_t row_bytes(const HostTensor& tensor) {
  std::size_t bytes = dtype_size(tensor.dtype());
  for (std::size_t i = 1; i < tensor.shape().size(); ++i) bytes *= static_cast<std::size_t>(tensor.shape()[i]);
  return bytes;
}

}  // namespace

OutputFolder::OutputFolder(std::string path) : path_(std::move(path)) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error)
    throw Error(ErrorKind::kUsage, fmt::format("the output folder '{}' cannot be made: {}", path_, error.message()));
}

void OutputFolder::add(const std::string& name, const std::string& kind, const std::string& suffix, HostTensor tensor) {
  std::string file = name + suffix + ".npy";
  std::replace(file.begin(), file.end(), '/', '_');
  items_.push_back({name, kind, std::move(file), std::move(tensor)});
}

void OutputFolder::write() const {
  std::map<std::string, std::string> names;
  for (const Item& item : items_) {
    const auto [other, fresh] = names.emplace(item.file, item.name);
    if (!fresh) {
      throw Error(ErrorKind::kRun, fmt::format("'{}' and '{}' would both be written to '{}'; rename one in the model",
                                               other->second, item.name, item.file));
    }
  }
  auto manifest = nlohmann::ordered_json::array();
  for (const Item& item : items_) {
    write_tensor_file(path_ + "/" + item.file, item.tensor);
    manifest.push_back({{"name", item.name}, {"kind", item.kind}, {"file", item.file}});
  }
  write_atomically(path_ + "/manifest.json", manifest.dump(1) + "\n");
}

HostTensor slice_rows(const HostTensor& tensor, int64_t first, int64_t count) {
  Shape shape = tensor.shape();
  shape.front() = count;
  HostTensor rows(tensor.dtype(), shape);
  const std::size_t bytes = row_bytes(tensor);
  if (rows.bytes()) {
    std::memcpy(rows.edit(), static_cast<const std::byte*>(tensor.data()) + static_cast<std::size_t>(first) * bytes,
                rows.bytes());
  }
  return rows;
}

HostTensor join_rows(const std::vector<HostTensor>& parts) {
  Shape shape = parts.front().shape();
  shape.front() = 0;
  for (const HostTensor& part : parts) shape.front() += part.shape().front();
  HostTensor all(parts.front().dtype(), shape);
  auto* next = static_cast<std::byte*>(all.edit());
  for (const HostTensor& part : parts) {
    if (part.bytes()) std::memcpy(next, part.data(), part.bytes());
    next += part.bytes();
  }
  return all;
}

}  // namespace onward::cli
