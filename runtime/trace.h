#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/plan.h"

namespace onward {

// One step as it ran.
struct TraceEntry {
  std::string name;  // the node's text
  std::string op;
  int replica = 0;
  int stream = kComputeStream;
  double begin_us = 0;  // since the trace started
  double end_us = 0;
  std::size_t bytes = 0;  // read and written
  int collective = -1;
};

struct Trace {
  std::vector<TraceEntry> entries;
};

// Chrome's trace format (chrome://tracing, Perfetto): one process per replica, one row per stream.
std::string to_chrome_json(const Trace& trace);

// How communication and compute lay over one another, summed over replicas.
struct Overlap {
  double communication_us = 0;
  double compute_us = 0;
  double overlapped_us = 0;  // communication during which the same replica's compute stream ran a step
};
Overlap measure_overlap(const Trace& trace);

}  // namespace onward
