#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace onward {

// The named files of a data set, in a folder or in a tar archive (plain or gzip). An archive's files go by their last
// path component and are read in one pass, nothing is unpacked to disk.
class FileSet {
 public:
  static FileSet folder(std::filesystem::path path);
  // Keeps the files named in `wanted`. Error(kData) if the archive is damaged.
  static FileSet archive(std::filesystem::path path, const std::vector<std::string>& wanted);

  bool contains(const std::string& name) const;
  // The file's bytes, given once. Error(kData) if it is missing or cannot be read.
  std::vector<uint8_t> take(const std::string& name);
  // The file's place for messages: "cifar/data_batch_1.bin", "cifar.tar.gz: data_batch_1.bin".
  std::string where(const std::string& name) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool archive_ = false;
  std::map<std::string, std::vector<uint8_t>> members_;
};

}  // namespace onward
