#pragma once
#include <string>
#include <vector>

namespace onward::test {

// What a run of the `onward` program left behind.
struct ProgramResult {
  int code = -1;    // exit code; 128 + signal if it was killed
  std::string out;  // standard output
  std::string err;  // standard error
};

// Runs the program of this build with the arguments and waits.
ProgramResult run_program(const std::vector<std::string>& arguments);

// Starts the program, waits until `file` exists and has at least `lines` lines, sends `signal`, and waits for the end.
ProgramResult interrupt_program(const std::vector<std::string>& arguments, const std::string& file, int lines,
                                int signal);

// An empty folder of this name, which goes with all it holds when the tests end.
std::string fresh_folder(const std::string& name);

}  // namespace onward::test
