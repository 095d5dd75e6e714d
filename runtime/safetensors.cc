#include "runtime/safetensors.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "graph/atomic_file.h"
#include "graph/error.h"
#include "graph/file_io.h"

namespace onward {

namespace {

constexpr const char* kChecksum = "checksum";
constexpr const char* kBlank = "0000000000000000";
constexpr const char* kMetadata = "__metadata__";

constexpr std::pair<DType, const char*> kTypes[] = {
    {DType::kFloat64, "F64"}, {DType::kFloat32, "F32"}, {DType::kFloat16, "F16"}, {DType::kBFloat16, "BF16"},
    {DType::kInt64, "I64"},   {DType::kInt32, "I32"},   {DType::kInt16, "I16"},   {DType::kInt8, "I8"},
    {DType::kUInt64, "U64"},  {DType::kUInt32, "U32"},  {DType::kUInt16, "U16"},  {DType::kUInt8, "U8"},
    {DType::kBool, "BOOL"}};

std::string type_name(DType dtype) {
  for (const auto& [type, name] : kTypes) {
    if (type == dtype) return name;
  }
  throw Error(ErrorKind::kModel, fmt::format("safetensors has no name for {}", dtype_name(dtype)));
}

DType type_of(const std::string& name) {
  for (const auto& [type, type_text] : kTypes) {
    if (name == type_text) return type;
  }
  return DType::kUndefined;
}

// Header text with padding to 8 bytes. The checksum is always 16 digits, so its value does not move the data.
std::string header_text(const Safetensors& file, const std::string& checksum) {
  nlohmann::ordered_json header;
  header[kMetadata] = file.metadata;
  header[kMetadata][kChecksum] = checksum;
  std::size_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    header[name] = {{"dtype", type_name(tensor.dtype())},
                    {"shape", tensor.shape()},
                    {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

class Hash {
 public:
  Hash() : state_(XXH3_createState()) { XXH3_64bits_reset(state_.get()); }
  void add(const void* data, std::size_t bytes) { XXH3_64bits_update(state_.get(), data, bytes); }
  std::string digits() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_.get())); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

std::string checksum_of(const Safetensors& file, const std::string& blank_header) {
  Hash hash;
  const uint64_t length = blank_header.size();
  hash.add(&length, sizeof(length));
  hash.add(blank_header.data(), blank_header.size());
  for (const auto& [name, tensor] : file.tensors) hash.add(tensor.data(), tensor.bytes());
  return hash.digits();
}

Error damaged(const std::string& path, const std::string& what) {
  return Error(ErrorKind::kData, fmt::format("'{}' is not a whole safetensors file: {}", path, what));
}

void check_checksum(const std::string& path, std::string content, std::size_t header_end, const std::string& found) {
  const std::string entry = fmt::format("\"{}\":\"{}\"", kChecksum, found);
  const std::size_t at = content.find(entry);
  if (at == std::string::npos || at > header_end || found.size() != std::strlen(kBlank)) {
    throw damaged(path, "its checksum is not readable");
  }
  content.replace(at + entry.size() - 1 - found.size(), found.size(), kBlank);
  Hash hash;
  hash.add(content.data(), content.size());
  if (hash.digits() != found) {
    throw damaged(path, fmt::format("expected the checksum {}, found {}", found, hash.digits()));
  }
}

Shape read_shape(const nlohmann::json& json) {
  Shape shape;
  int64_t count = 1;
  for (const auto& dim : json) {
    const auto value = dim.get<int64_t>();
    if (value < 0 || (value > 0 && count > std::numeric_limits<int64_t>::max() / 16 / value)) {
      throw std::out_of_range("a shape");
    }
    shape.push_back(value);
    count *= value;
  }
  return shape;
}

using NamedTensors = std::vector<std::pair<std::string, HostTensor>>;

// Tensors must lie one after the other; nothing may be left over.
NamedTensors read_tensors(const nlohmann::ordered_json& header, const std::string& path, const char* data,
                          std::size_t size) {
  NamedTensors tensors;
  std::map<std::size_t, std::size_t> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) continue;
    const DType dtype = type_of(entry.at("dtype").get<std::string>());
    if (dtype == DType::kUndefined) {
      throw damaged(path, fmt::format("'{}' has the unknown type {}", name, entry.at("dtype").dump()));
    }
    const Shape shape = read_shape(entry.at("shape"));
    const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
    const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
    const std::size_t bytes = static_cast<std::size_t>(element_count(shape)) * dtype_size(dtype);
    if (end < begin || end - begin != bytes || end > size) {
      throw damaged(path, fmt::format("'{}' needs {} bytes, its range {}..{} of {} does not hold them", name, bytes,
                                      begin, end, size));
    }
    HostTensor tensor(dtype, shape);
    if (bytes) std::memcpy(tensor.edit(), data + begin, bytes);
    if (bytes) ranges.emplace(begin, end);
    tensors.emplace_back(name, std::move(tensor));
  }
  std::size_t position = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != position) {
      throw damaged(path, fmt::format("data from byte {} to {} belongs to no tensor or to two", position, begin));
    }
    position = end;
  }
  if (position != size) throw damaged(path, fmt::format("expected {} bytes of data, found {}", position, size));
  return tensors;
}

}  // namespace

const HostTensor* Safetensors::find(const std::string& name) const {
  for (const auto& [tensor_name, tensor] : tensors) {
    if (tensor_name == name) return &tensor;
  }
  return nullptr;
}

void save_safetensors(const std::string& path, const Safetensors& file) {
  const std::string checksum = checksum_of(file, header_text(file, kBlank));
  const std::string header = header_text(file, checksum);
  write_atomically(path, [&](FileWriter& writer) {
    const uint64_t length = header.size();
    writer.write(&length, sizeof(length));
    writer.write(header.data(), header.size());
    for (const auto& [name, tensor] : file.tensors) writer.write(tensor.data(), tensor.bytes());
  });
}

Safetensors load_safetensors(const std::string& path, bool checksum_required) {
  const std::string content = read_file(path, ErrorKind::kData);
  uint64_t length = 0;
  if (content.size() < sizeof(length)) {
    throw damaged(path, fmt::format("expected at least 8 bytes, found {}", content.size()));
  }
  std::memcpy(&length, content.data(), sizeof(length));
  if (length > content.size() - sizeof(length)) {
    throw damaged(path, fmt::format("its header needs {} bytes, {} follow", length, content.size() - sizeof(length)));
  }
  const std::size_t start = sizeof(length) + length;
  try {
    const auto header = nlohmann::ordered_json::parse(content.begin() + sizeof(length),
                                                      content.begin() + static_cast<std::ptrdiff_t>(start));
    Safetensors file;
    if (header.contains(kMetadata)) file.metadata = header.at(kMetadata).get<std::map<std::string, std::string>>();
    if (const auto checksum = file.metadata.find(kChecksum); checksum != file.metadata.end()) {
      check_checksum(path, content, start, checksum->second);
      file.metadata.erase(checksum);
    } else if (checksum_required) {
      throw damaged(path, "expected a checksum in its metadata, found none");
    }
    file.tensors = read_tensors(header, path, content.data() + start, content.size() - start);
    return file;
  } catch (const nlohmann::json::exception&) {
    throw damaged(path, "its header is not the JSON that the format asks for");
  } catch (const std::out_of_range&) {
    throw damaged(path, "a shape in its header is out of range");
  }
}

bool begins_as_safetensors(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  uint64_t length = 0;
  char first = 0;
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&length), sizeof(length)).get(first);
  return file && !error && length <= size - sizeof(length) && first == '{';
}

}  // namespace onward
