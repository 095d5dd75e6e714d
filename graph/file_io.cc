#include "graph/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "graph/atomic_file.h"

namespace onward {
namespace {

// One call moves at most this much: Linux limits a read or write to a little under 2 GiB.
constexpr std::size_t kMaxChunk = std::size_t{1} << 30;

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }
  int close() { return descriptor_ < 0 ? 0 : ::close(std::exchange(descriptor_, -1)); }

 private:
  int descriptor_;
};

std::string reason() { return std::strerror(errno); }

// An open regular file and its size.
struct OpenFile {
  FileDescriptor descriptor;
  uint64_t size = 0;
};

OpenFile open_file(const std::string& path, ErrorKind kind) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw Error(kind, fmt::format("expected a file, found none at '{}' ({})", path, reason()));
  }
  // Asked before opening, because opening a pipe would wait for a writer.
  if (!S_ISREG(status.st_mode)) {
    throw Error(
        kind, fmt::format("expected a file, found a {} at '{}'", S_ISDIR(status.st_mode) ? "folder" : "device", path));
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw Error(kind, fmt::format("cannot read '{}': {}", path, reason()));
  return {FileDescriptor(descriptor), static_cast<uint64_t>(status.st_size)};
}

}  // namespace

uint64_t file_size(const std::string& path, ErrorKind kind) { return open_file(path, kind).size; }

std::string read_file(const std::string& path, ErrorKind kind) {
  return read_file_range(path, 0, file_size(path, kind), kind);
}

std::string read_file_range(const std::string& path, uint64_t offset, uint64_t length, ErrorKind kind) {
  const OpenFile file = open_file(path, kind);
  const uint64_t present = file.size - std::min(offset, file.size);
  const auto too_short = [&](uint64_t found) {
    return Error(kind, fmt::format("expected {} bytes from byte {} on in '{}', found {}", length, offset, path, found));
  };
  if (present < length) throw too_short(present);
  std::string bytes(length, '\0');
  for (uint64_t done = 0; done < length;) {
    const ssize_t got = ::pread(file.descriptor.get(), bytes.data() + done,
                                std::min<uint64_t>(length - done, kMaxChunk), static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(kind, fmt::format("cannot read '{}': {}", path, reason()));
    if (got == 0) throw too_short(done);  // the file shrank
    done += static_cast<uint64_t>(got);
  }
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  write_atomically(path, [&](FileWriter& writer) { writer.write(bytes.data(), bytes.size()); });
}

}  // namespace onward
