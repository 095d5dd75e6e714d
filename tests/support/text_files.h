#pragma once
#include <string>

namespace onward::test {

// The bytes of a file. Throws std::runtime_error if it cannot be opened.
std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& content);

}  // namespace onward::test
