#pragma once
#include <functional>
#include <string>

namespace onward {

// Writes pieces of a file; given to the callback of write_atomically. Error(kRun) with the system's reason when a write
// fails.
class FileWriter {
 public:
  FileWriter(int descriptor, const std::string& path) : descriptor_(descriptor), path_(path) {}
  void write(const void* data, std::size_t bytes);

 private:
  int descriptor_;
  const std::string& path_;
};

// Makes `path` hold what `fill` writes, or leaves it as it was: a temporary file in the same folder, synced, renamed
// over `path`, and the folder synced, so that after a crash either the old or the new content is there. Error(kRun)
// naming the file and the reason; the temporary file is removed then.
void write_atomically(const std::string& path, const std::function<void(FileWriter&)>& fill);
void write_atomically(const std::string& path, const std::string& content);

}  // namespace onward
