#pragma once
#include <string>

namespace onward::cli {

// Messages for people go to standard error, results to standard output. A fact is a plain line; a warning starts with
// "warning: ". Each text is shown once, however often it is said.
void say(const std::string& fact);
void warn(const std::string& text);
// Only warnings from now on.
void be_quiet();

}  // namespace onward::cli
