#include "runtime/data/file_set.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>

#include "graph/error.h"
#include "runtime/data/gzip_file.h"

namespace onward {

namespace {

// libarchive understands tar, zlib the compression around it (see GzipFile).
class TarReader {
 public:
  explicit TarReader(const std::filesystem::path& path)
      : path_(path), file_(path), block_(1 << 16), tar_(archive_read_new()) {
    archive_read_support_format_tar(tar_.get());
    check(archive_read_open(tar_.get(), this, nullptr, &TarReader::next_block, nullptr));
  }

  // False at the end.
  bool next() {
    const int code = archive_read_next_header(tar_.get(), &entry_);
    if (code == ARCHIVE_EOF) return false;
    check(code);
    return true;
  }
  std::string name() const {
    const char* name = archive_entry_pathname(entry_);
    return name ? std::filesystem::path(name).filename().string() : std::string();
  }
  bool is_file() const { return archive_entry_filetype(entry_) == AE_IFREG; }

  std::vector<uint8_t> content() {
    const int64_t size = archive_entry_size(entry_);
    if (size < 0 || static_cast<uint64_t>(size) > kMostFileBytes) {
      throw Error(ErrorKind::kData, fmt::format("expected at most {} bytes for {} in {}, found {}", kMostFileBytes,
                                                name(), path_.string(), size));
    }
    std::vector<uint8_t> bytes(static_cast<std::size_t>(size));
    std::size_t done = 0;
    while (done < bytes.size()) {
      const auto got = archive_read_data(tar_.get(), bytes.data() + done, bytes.size() - done);
      check(got < 0 ? static_cast<int>(got) : ARCHIVE_OK);
      if (got == 0) fail(fmt::format("{} ends after {} of {} bytes", name(), done, bytes.size()));
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }
  // Reads what follows the last entry, so that the checksum is compared.
  void drain() {
    while (file_.read(block_.data(), block_.size()) > 0) {
    }
  }

 private:
  struct Free {
    void operator()(struct archive* a) const { archive_read_free(a); }
  };

  static la_ssize_t next_block(struct archive* tar, void* self, const void** block) {
    auto* reader = static_cast<TarReader*>(self);
    try {
      *block = reader->block_.data();
      return static_cast<la_ssize_t>(reader->file_.read(reader->block_.data(), reader->block_.size()));
    } catch (...) {  // must not pass through C frames
      reader->error_ = std::current_exception();
      archive_set_error(tar, EIO, "reading failed");
      return ARCHIVE_FATAL;
    }
  }

  void check(int code) {
    if (error_) std::rethrow_exception(error_);
    if (code == ARCHIVE_OK || code == ARCHIVE_WARN) return;
    const char* reason = archive_error_string(tar_.get());
    fail(reason ? reason : "damaged");
  }
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(
        ErrorKind::kData,
        fmt::format("expected an intact .tar.gz (or a folder) at {}, found: {}; fetch it again or give its folder",
                    path_.string(), reason));
  }

  std::filesystem::path path_;
  GzipFile file_;
  std::vector<uint8_t> block_;
  std::unique_ptr<struct archive, Free> tar_;
  struct archive_entry* entry_ = nullptr;
  std::exception_ptr error_;
};

}  // namespace

FileSet FileSet::folder(std::filesystem::path path) {
  FileSet set;
  set.path_ = std::move(path);
  return set;
}

FileSet FileSet::archive(std::filesystem::path path, const std::vector<std::string>& wanted) {
  FileSet set;
  set.path_ = std::move(path);
  set.archive_ = true;
  TarReader tar(set.path_);
  while (tar.next()) {
    const std::string name = tar.name();
    if (tar.is_file() && std::find(wanted.begin(), wanted.end(), name) != wanted.end())
      set.members_[name] = tar.content();
  }
  tar.drain();
  return set;
}

bool FileSet::contains(const std::string& name) const {
  if (archive_) return members_.count(name) > 0;
  std::error_code error;
  return std::filesystem::is_regular_file(path_ / name, error);
}

std::vector<uint8_t> FileSet::take(const std::string& name) {
  if (!archive_) return read_file(path_ / name);
  const auto found = members_.extract(name);
  if (!found) {
    throw Error(ErrorKind::kData,
                fmt::format("expected {} in {}, found no such file in the archive", name, path_.string()));
  }
  return std::move(found.mapped());
}

std::string FileSet::where(const std::string& name) const {
  return archive_ ? fmt::format("{}: {}", path_.string(), name) : (path_ / name).string();
}

}  // namespace onward
