#pragma once
#include <string>

#include "runtime/trace.h"

namespace onward::cli {

// Writes a step's trace for chrome://tracing or Perfetto and says how much of the communication overlapped compute.
void write_trace(const std::string& path, const Trace& trace);

}  // namespace onward::cli
