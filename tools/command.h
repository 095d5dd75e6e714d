#pragma once
#include <string>
#include <vector>

#include "tools/options.h"

namespace onward::cli {

// A sub-command: what it takes, and what runs it. `run` returns the exit code and throws Error for everything that goes
// wrong. tools/cmd_<name>.cc defines `Command <name>_command()`; CMake generates the list from the file names.
struct Command {
  CommandSpec spec;
  int (*run)(const Options& options) = nullptr;
};

std::vector<Command> all_commands();

}  // namespace onward::cli
