#include "runtime/data/gzip_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "graph/error.h"

namespace onward {

namespace {

std::size_t size_on_disk(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

[[noreturn]] void refuse_size(const std::filesystem::path& path) {
  throw Error(ErrorKind::kData,
              fmt::format("expected at most {} bytes in {}, found more; it is not a file of a supported data set",
                          kMostFileBytes, path.string()));
}

[[noreturn]] void refuse_unreadable(const std::filesystem::path& path) {
  const char* reason = errno ? std::strerror(errno) : "something that is not a file";
  throw Error(ErrorKind::kData, fmt::format("expected a readable file at {}, found: {}", path.string(), reason));
}

}  // namespace

GzipFile::GzipFile(std::filesystem::path path) : path_(std::move(path)), file_(nullptr) {
  errno = 0;
  std::error_code error;
  if (std::filesystem::is_regular_file(path_, error)) file_ = gzopen(path_.c_str(), "rb");
  if (!file_) refuse_unreadable(path_);
  gzbuffer(file_, 1 << 18);
}

GzipFile::~GzipFile() { gzclose_r(file_); }

std::size_t GzipFile::read(void* out, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const auto part = static_cast<unsigned>(std::min<std::size_t>(size - done, 1u << 30));
    const int got = gzread(file_, static_cast<char*>(out) + done, part);
    int code = Z_OK;
    const char* reason = gzerror(file_, &code);
    // zlib reports data that end early as Z_BUF_ERROR beside a short read.
    if (got < 0 || code == Z_BUF_ERROR || code == Z_DATA_ERROR) {
      throw Error(
          ErrorKind::kData,
          fmt::format(
              "expected intact gzip data in {} ({} bytes), found them damaged or cut short: {}; fetch the file again",
              path_.string(), size_on_disk(path_), code == Z_ERRNO ? std::strerror(errno) : reason));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool GzipFile::compressed() const { return !gzdirect(file_); }

std::vector<uint8_t> read_file(const std::filesystem::path& path) {
  errno = 0;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) refuse_unreadable(path);
  if (size_on_disk(path) > kMostFileBytes) refuse_size(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse_unreadable(path);
  std::vector<uint8_t> bytes(size_on_disk(path));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (static_cast<std::size_t>(file.gcount()) != bytes.size()) refuse_unreadable(path);
  return bytes;
}

std::vector<uint8_t> read_gzip(const std::filesystem::path& path) {
  GzipFile file(path);
  std::vector<uint8_t> bytes;
  std::size_t size = 0;
  while (size == bytes.size()) {
    if (size > kMostFileBytes) refuse_size(path);
    bytes.resize(std::max<std::size_t>(2 * size, 1 << 20));
    size += file.read(bytes.data() + size, bytes.size() - size);
  }
  if (!file.compressed()) {
    throw Error(ErrorKind::kData,
                fmt::format("expected gzip data in {}, found a file of {} bytes without gzip's header", path.string(),
                            size_on_disk(path)));
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace onward
