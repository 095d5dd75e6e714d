#pragma once
#include <string>
#include <vector>

namespace onward::testing_support {

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

// An empty folder of this name under the test's temporary folder.
std::string fresh_folder(const std::string& name);
std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& content);

}  // namespace onward::testing_support
