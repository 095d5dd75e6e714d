#include "runtime/stream.h"

#include <pthread.h>

#include <chrono>
#include <utility>

#include "ops/core/parallel.h"

namespace onward {

namespace {

// SplitMix64 (Steele, Lea and Flood 2014): one step of a small generator.
uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

Stream::Stream(StreamOptions options)
    : options_(std::move(options)),
      random_(options_.delays.seed ^ std::hash<std::string>()(options_.name)),
      thread_([this] { run(); }) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::push(Item item) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(item));
  }
  changed_.notify_all();
}

void Stream::enqueue(std::function<void()> work) { push({.work = std::move(work)}); }

void Stream::record(Event& event) { push({.recorded = &event, .ticket = event.announce()}); }

void Stream::wait(const Event& event) {
  push({.work = [&event, ticket = event.announced()] { event.wait(ticket); }});
}

void Stream::synchronise() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
  if (!error_) return;
  const auto error = std::exchange(error_, nullptr);
  throw Error(*error);
}

void Stream::delay() {
  if (options_.delays.max_microseconds <= 0) return;
  const auto range = static_cast<uint64_t>(options_.delays.max_microseconds) + 1;
  std::this_thread::sleep_for(std::chrono::microseconds(next_random(random_) % range));
}

void Stream::run() {
  pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  prepare_compute_thread(options_.team);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !queue_.empty() || ending_; });
    if (queue_.empty()) return;
    Item item = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    delay();
    run_item(item);
    item = {};
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

// Only this thread sets error_ while it is busy, and synchronise() reads it when it is not.
void Stream::run_item(Item& item) {
  if (item.recorded) {
    item.recorded->complete(item.ticket, error_);
    return;
  }
  if (error_) return;
  try {
    item.work();
  } catch (...) {
    error_ = current_error();
  }
}

}  // namespace onward
