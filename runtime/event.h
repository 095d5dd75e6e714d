#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "graph/error.h"

namespace onward {

// The error in flight as an Error of its own, so that several threads may add notes to theirs; other exceptions become
// Error(kRun) with their text.
std::shared_ptr<const Error> current_error();

// A point in a stream's work that others may wait for, with the meaning CUDA gives it: recording again moves the point;
// waiting means waiting for the latest recording announced before the call; an event never recorded is complete. Errors
// travel with events: whoever waits for a recording that failed gets a copy of its error.
class Event {
 public:
  // Announces one more recording and returns its ticket: 1, 2, ... Called by the thread that queues the recording.
  uint64_t announce() { return announced_.fetch_add(1, std::memory_order_relaxed) + 1; }
  // The latest announced ticket; 0 if there was none.
  uint64_t announced() const { return announced_.load(std::memory_order_relaxed); }
  // The recording with this ticket is done. Called by the stream, in ascending order of tickets.
  void complete(uint64_t ticket, std::shared_ptr<const Error> error = nullptr);
  // Blocks until the recording with this ticket is done; throws its error.
  void wait(uint64_t ticket) const;
  // Blocks until every announced recording is done; throws the latest error.
  void synchronise() const { wait(announced()); }

 private:
  std::atomic<uint64_t> announced_{0};
  std::atomic<uint64_t> completed_{0};
  std::atomic<bool> failed_{false};
  mutable std::mutex error_mutex_;
  std::shared_ptr<const Error> error_;
};

}  // namespace onward
