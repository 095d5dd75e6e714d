#include "tools/trace_file.h"

#include <fmt/format.h>

#include "graph/atomic_file.h"
#include "tools/log.h"

namespace onward::cli {

void write_trace(const std::string& path, const Trace& trace) {
  write_atomically(path, to_chrome_json(trace));
  const Overlap overlap = measure_overlap(trace);
  say(fmt::format("trace: '{}', communication {:.2f} ms of which {:.2f} ms overlap compute", path,
                  overlap.communication_us / 1e3, overlap.overlapped_us / 1e3));
}

}  // namespace onward::cli
