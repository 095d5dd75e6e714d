#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

struct gzFile_s;

namespace onward {

// No file of the supported data sets is larger.
inline constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;

// Reads a gzip file, or a plain one as it is. Unlike libarchive's filter, zlib checks the stored checksum and length.
class GzipFile {
 public:
  // Error(kData) if the file cannot be opened.
  explicit GzipFile(std::filesystem::path path);
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;
  ~GzipFile();

  // Up to `size` bytes; fewer only at the end. Error(kData) if the data are damaged or end early.
  std::size_t read(void* out, std::size_t size);
  // False if the file does not start as gzip files do. Valid after the first read.
  bool compressed() const;

 private:
  std::filesystem::path path_;
  gzFile_s* file_;
};

// A whole file. Error(kData) if it cannot be read, holds more than kMostFileBytes, or (read_gzip) is not gzip.
std::vector<uint8_t> read_file(const std::filesystem::path& path);
std::vector<uint8_t> read_gzip(const std::filesystem::path& path);

}  // namespace onward
