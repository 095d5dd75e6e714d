#include "tests/support/run_command.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <stdexcept>

#include "graph/error.h"
#include "tools/command.h"

namespace onward::test {

CommandResult run_command(const std::string& name, const std::vector<std::string>& arguments) {
  for (const cli::Command& command : cli::all_commands()) {
    if (command.spec.name != name) continue;
    const cli::Options options = cli::parse_options(command.spec, arguments);
    testing::internal::CaptureStdout();
    try {
      const int code = command.run(options);
      return {code, testing::internal::GetCapturedStdout()};
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
  }
  throw std::invalid_argument("no command " + name);
}

}  // namespace onward::test
