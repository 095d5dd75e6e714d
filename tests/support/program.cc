#include "tests/support/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_files.h"

namespace onward::test {

namespace {

// Of this process of tests.
const TemporaryFolder& scratch() {
  static const TemporaryFolder folder;
  return folder;
}

struct Process {
  pid_t pid = -1;
  std::string out, err;  // files
};

Process start(const std::vector<std::string>& arguments) {
  static int number = 0;
  const std::string base = scratch().file("program-" + std::to_string(++number));
  Process process{-1, base + ".out", base + ".err"};
  const std::string program = binary_dir() + "/onward";
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  process.pid = ::fork();
  if (process.pid == 0) {
    ::dup2(::open(process.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    ::dup2(::open(process.err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  return process;
}

ProgramResult finish(const Process& process) {
  int status = 0;
  ::waitpid(process.pid, &status, 0);
  ProgramResult result{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(process.out),
                       read_text(process.err)};
  std::filesystem::remove(process.out);
  std::filesystem::remove(process.err);
  return result;
}

std::ptrdiff_t line_count(const std::string& path) {
  if (!std::filesystem::exists(path)) return 0;
  const std::string text = read_text(path);
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments) { return finish(start(arguments)); }

ProgramResult interrupt_program(const std::vector<std::string>& arguments, const std::string& file, int lines,
                                int signal) {
  const Process process = start(arguments);
  for (int i = 0; i < 6000 && line_count(file) < lines; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    siginfo_t info{};
    // Looks whether the program has ended, without taking its status from finish().
    if (::waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
      break;
  }
  ::kill(process.pid, signal);
  return finish(process);
}

std::string fresh_folder(const std::string& name) {
  const std::string path = scratch().file(name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

}  // namespace onward::test
