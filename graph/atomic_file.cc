#include "graph/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "graph/error.h"

namespace onward {

namespace {

Error failure(const std::string& what, const std::string& path) {
  return Error(ErrorKind::kRun, fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)));
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, mode_t mode = 0)
      : value_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }
  // Some file systems report a failed write only when the file is closed.
  bool close() {
    const int result = ::close(value_);
    value_ = -1;
    return result == 0;
  }

 private:
  int value_;
};

void sync_folder(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  Descriptor descriptor(folder, O_RDONLY | O_DIRECTORY);
  // Folders of some network file systems cannot be synced; EINVAL says so and is no fault of the file.
  if (descriptor.value() < 0 || (::fsync(descriptor.value()) != 0 && errno != EINVAL))
    throw failure("sync the folder", folder);
}

}  // namespace

void FileWriter::write(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw failure("write", path_);
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void write_atomically(const std::string& path, const std::function<void(FileWriter&)>& fill) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  try {
    Descriptor descriptor(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (descriptor.value() < 0) throw failure("write", path);
    FileWriter writer(descriptor.value(), path);
    fill(writer);
    if (::fsync(descriptor.value()) != 0 || !descriptor.close()) throw failure("write", path);
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw failure("write", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(path);
}

void write_atomically(const std::string& path, const std::string& content) {
  write_atomically(path, [&](FileWriter& writer) { writer.write(content.data(), content.size()); });
}

}  // namespace onward
