// The program: finds the sub-command, runs it, and turns an Error into one message and its exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

#include "graph/error.h"
#include "tools/command.h"

namespace onward::cli {
namespace {

// The overview's order: the main job first.
const std::vector<std::string> kOrder = {"model", "train", "eval", "export", "inspect", "run", "check", "bench", "ops"};

std::vector<Command> ordered_commands() {
  std::vector<Command> commands = all_commands();
  const auto place = [](const Command& c) { return std::find(kOrder.begin(), kOrder.end(), c.spec.name); };
  std::sort(commands.begin(), commands.end(), [&](const Command& a, const Command& b) { return place(a) < place(b); });
  return commands;
}

std::string overview(const std::vector<Command>& commands) {
  std::string text =
      "onward trains a model from its .onnx file and writes the trained model back.\n\nUsage: onward COMMAND "
      "[options]\n\nCommands:\n";
  for (const Command& command : commands) text += fmt::format("  {:<9} {}\n", command.spec.name, command.spec.summary);
  return text + "\nonward COMMAND --help lists a command's options with their defaults.\n";
}

const Command& find_command(const std::vector<Command>& commands, const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (command.spec.name == name) return command;
    names.push_back(command.spec.name);
  }
  const std::string near = nearest(name, names);
  throw Error(ErrorKind::kUsage, fmt::format("unknown command '{}'{}; see onward --help", name,
                                             near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

bool asks_for_help(const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find_if(arguments.begin(), end, [](const auto& a) { return a == "--help" || a == "-h"; }) != end;
}

int dispatch(const std::vector<std::string>& arguments) {
  const std::vector<Command> commands = ordered_commands();
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    fmt::print("{}", overview(commands));
    return arguments.empty() ? static_cast<int>(ErrorKind::kUsage) : 0;
  }
  if (arguments[0] == "--version") {
    fmt::print("onward {}\n", ONWARD_VERSION);
    return 0;
  }
  const Command& command = find_command(commands, arguments[0]);
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (asks_for_help(rest)) {
    fmt::print("{}", help_text(command.spec));
    return 0;
  }
  return command.run(parse_options(command.spec, rest));
}

}  // namespace
}  // namespace onward::cli

int main(int argc, char** argv) {
  try {
    return onward::cli::dispatch({argv + 1, argv + argc});
  } catch (const onward::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return static_cast<int>(error.kind());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory; try a smaller --batch-size or fewer replicas\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
  }
  return static_cast<int>(onward::ErrorKind::kRun);
}
