#pragma once
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace onward {

// What kind of thing went wrong. The values are the program's exit codes.
enum class ErrorKind {
  kRun = 1,     // the run itself failed: a comparison, a non-finite loss, a final save
  kUsage = 2,   // an option or argument
  kData = 3,    // a data set, a tensor file
  kModel = 4,   // an .onnx file or the graph made from it
  kDevice = 5,  // a device, a communicator
};

// The one exception type. The message says what was expected, what was found, where, and what to do. Callers on the way
// up add notes (pass, node, step, replica, file); they are printed after the message, innermost first.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message);

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& notes() const { return notes_; }
  // The message and every note, one a line.
  const char* what() const noexcept override { return text_.c_str(); }

  // Add a note, as in: catch (Error& e) { e.note("in pass backward"); throw; }
  Error& note(std::string_view note);

 private:
  ErrorKind kind_;
  std::string message_;
  std::vector<std::string> notes_;
  std::string text_;
};

}  // namespace onward
