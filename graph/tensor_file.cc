#include "graph/tensor_file.h"

#include <fmt/format.h>

#include "graph/file_io.h"

namespace onward {
namespace {

enum class Format { kNpy, kPb };

Format format_of(const std::string& path) {
  if (path.ends_with(".npy")) return Format::kNpy;
  if (path.ends_with(".pb")) return Format::kPb;
  throw Error(ErrorKind::kData, fmt::format("expected a tensor file ending in .npy or .pb, found '{}'", path));
}

}  // namespace

HostTensor read_tensor_file(const std::string& path) {
  const Format format = format_of(path);
  const std::string bytes = read_file(path, ErrorKind::kData);
  return format == Format::kNpy ? tensor_from_npy(bytes, path) : tensor_from_pb(bytes, path);
}

void write_tensor_file(const std::string& path, const HostTensor& tensor) {
  write_file(path, format_of(path) == Format::kNpy ? tensor_to_npy(tensor) : tensor_to_pb(tensor));
}

}  // namespace onward
