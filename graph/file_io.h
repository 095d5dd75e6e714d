#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "graph/error.h"

namespace onward {

// The bytes of a regular file. Error(kind): missing, a folder or device, unreadable.
std::string read_file(const std::string& path, ErrorKind kind);

// `length` bytes from `offset` on. Error(kind) with the bytes needed and present when the file is too short.
std::string read_file_range(const std::string& path, uint64_t offset, uint64_t length, ErrorKind kind);

// Size in bytes of a regular file. Error(kind): as read_file.
uint64_t file_size(const std::string& path, ErrorKind kind);

// Writes to a temporary file beside `path`, syncs it, renames it: `path` holds either what it held before or all of
// `bytes`. Error(kRun) when that fails; nothing is left behind.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace onward
