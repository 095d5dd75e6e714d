#pragma once
#include <atomic>

namespace onward::cli {

// From now on SIGINT and SIGTERM only set the returned flag to the signal's number, so that a run can save and end; a
// second signal ends the process at once.
const std::atomic<int>& catch_interrupts();

}  // namespace onward::cli
