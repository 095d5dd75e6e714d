#pragma once
#include <string>

namespace onward::cli {

// A bar on the terminal's last line; silent when standard error is not a terminal.
class ProgressBar {
 public:
  ProgressBar();
  void show(double fraction, const std::string& text);
  // Removes the bar, so that a line can be printed.
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  double last_ = 0;  // seconds; bars are drawn ten times a second at most
};

}  // namespace onward::cli
