#include "tools/output_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "graph/atomic_file.h"
#include "graph/error.h"

namespace onward::cli {

namespace fs = std::filesystem;

std::string write_problem(const std::string& probe) {
  try {
    write_atomically(probe, std::string());
  } catch (const Error& cause) {
    return cause.message();
  }
  std::error_code ignored;
  fs::remove(probe, ignored);
  return "";
}

void check_output_file(const std::string& option, const std::string& path) {
  std::error_code error;
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected --{} to name a file that can be written, found '{}': {}", option, path, reason));
  };
  if (fs::is_directory(path, error)) refuse("it is a folder");
  if (const std::string problem = write_problem(path + ".write-test"); !problem.empty()) refuse(problem);
}

}  // namespace onward::cli
