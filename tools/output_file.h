#pragma once
#include <string>

namespace onward::cli {

// Writes an empty file under this name and removes it again: "" if that worked, else the reason why it did not.
std::string write_problem(const std::string& probe);

// Error(kUsage) naming the option if the file cannot be written: its folder is missing or read-only, or it is a folder
// itself. For files that are written at the end of a long command; leaves nothing behind.
void check_output_file(const std::string& option, const std::string& path);

}  // namespace onward::cli
