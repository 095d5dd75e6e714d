#include "runtime/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace onward {

std::string to_chrome_json(const Trace& trace) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  std::set<std::pair<int, int>> rows;
  for (const TraceEntry& entry : trace.entries) rows.insert({entry.replica, entry.stream});
  for (const auto& [replica, stream] : rows) {
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", replica},
                      {"args", {{"name", fmt::format("replica {}", replica)}}}});
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", replica},
                      {"tid", stream},
                      {"args", {{"name", stream_name(stream)}}}});
  }
  for (const TraceEntry& entry : trace.entries) {
    nlohmann::ordered_json args{{"bytes", entry.bytes}};
    if (entry.collective >= 0) args["collective"] = entry.collective;
    events.push_back({{"name", entry.name},
                      {"cat", entry.op},
                      {"ph", "X"},
                      {"pid", entry.replica},
                      {"tid", entry.stream},
                      {"ts", entry.begin_us},
                      {"dur", entry.end_us - entry.begin_us},
                      {"args", std::move(args)}});
  }
  return nlohmann::ordered_json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump();
}

namespace {

struct Span {
  double begin, end;
};

// Microseconds of `span` that lie within the spans, which are ascending and apart.
double covered(const Span& span, const std::vector<Span>& spans) {
  double total = 0;
  auto other = std::partition_point(spans.begin(), spans.end(), [&](const Span& s) { return s.end <= span.begin; });
  for (; other != spans.end() && other->begin < span.end; ++other) {
    total += std::min(span.end, other->end) - std::max(span.begin, other->begin);
  }
  return total;
}

}  // namespace

Overlap measure_overlap(const Trace& trace) {
  Overlap overlap;
  std::map<int, std::vector<Span>> compute;
  for (const TraceEntry& entry : trace.entries) {
    if (entry.stream != kComputeStream) continue;
    compute[entry.replica].push_back({entry.begin_us, entry.end_us});
    overlap.compute_us += entry.end_us - entry.begin_us;
  }
  for (const TraceEntry& entry : trace.entries) {
    if (entry.stream != kCommunicationStream) continue;
    overlap.communication_us += entry.end_us - entry.begin_us;
    overlap.overlapped_us += covered({entry.begin_us, entry.end_us}, compute[entry.replica]);
  }
  return overlap;
}

}  // namespace onward
