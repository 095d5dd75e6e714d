#pragma once
#include <string>
#include <vector>

namespace onward::emulator {

// Data races among the threads of kernels compiled with -fsanitize=thread and linked to races.cc instead of the
// sanitizer's run time: two accesses to one byte, at least one of them a write, by threads that no barrier orders. Of
// different blocks every such pair is a race. At most one message per launch. Clears the list.
std::vector<std::string> take_races();

}  // namespace onward::emulator
