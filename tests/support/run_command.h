#pragma once
#include <string>
#include <vector>

namespace onward::test {

struct CommandResult {
  int code = 0;
  std::string output;  // of standard output
};

// Runs a sub-command of the program in this process, as `onward NAME ARGUMENTS...` does; errors come out as Error.
CommandResult run_command(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace onward::test
