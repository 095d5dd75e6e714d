#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/event.h"

namespace onward {

// A test hook: streams sleep a random time before each step, to prove that schedules change nothing.
struct RandomDelays {
  uint64_t seed = 0;
  int max_microseconds = 0;  // 0: no delays
};

struct StreamOptions {
  std::string name;  // of the thread, as debuggers show it
  // Threads of the stream's team for parallel_for (ops/core/parallel.h). Communication streams have 1: they never open
  // a team.
  int team = 1;
  RandomDelays delays;
};

// A queue of work that one thread of its own runs in order. Flush-to-zero is set in the thread and its team. After an
// item throws, the items behind it are skipped and events recorded behind it carry the error, until synchronise()
// reports it.
class Stream {
 public:
  explicit Stream(StreamOptions options);
  // Runs what is queued, then ends the thread.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void enqueue(std::function<void()> work);
  // The event is complete when everything queued so far is done.
  void record(Event& event);
  // What is queued from now on runs after the event's latest recording; its error becomes the stream's.
  void wait(const Event& event);
  // Blocks until everything queued is done; throws the stream's error, if any, and clears it.
  void synchronise();

  // Sleeps a random time if the options ask for it. Called from work that runs on the stream, between its steps.
  void delay();

 private:
  struct Item {
    std::function<void()> work;
    Event* recorded = nullptr;
    uint64_t ticket = 0;
  };
  void push(Item item);
  void run();
  void run_item(Item& item);

  StreamOptions options_;
  uint64_t random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  bool busy_ = false;
  bool ending_ = false;
  std::shared_ptr<const Error> error_;
  std::thread thread_;
};

}  // namespace onward
