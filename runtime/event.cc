#include "runtime/event.h"

#include <new>
#include <string>

namespace onward {

namespace {

// Looking a few hundred times before sleeping saves a wake-up where the other stream is about to finish.
constexpr int kSpins = 200;

}  // namespace

std::shared_ptr<const Error> current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return std::make_shared<const Error>(error);
  } catch (const std::bad_alloc&) {
    return std::make_shared<const Error>(ErrorKind::kRun, "out of memory; use a smaller batch or fewer replicas");
  } catch (const std::exception& error) {
    return std::make_shared<const Error>(ErrorKind::kRun, error.what());
  } catch (...) {
    return std::make_shared<const Error>(ErrorKind::kRun, "an unknown exception was thrown");
  }
}

void Event::complete(uint64_t ticket, std::shared_ptr<const Error> error) {
  if (error || failed_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(error_mutex_);
    failed_.store(error != nullptr, std::memory_order_relaxed);
    error_ = std::move(error);
  }
  completed_.store(ticket, std::memory_order_release);
  completed_.notify_all();
}

void Event::wait(uint64_t ticket) const {
  uint64_t done = completed_.load(std::memory_order_acquire);
  for (int spin = 0; done < ticket && spin < kSpins; ++spin) done = completed_.load(std::memory_order_acquire);
  while (done < ticket) {
    completed_.wait(done, std::memory_order_acquire);
    done = completed_.load(std::memory_order_acquire);
  }
  if (!failed_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(error_mutex_);
  if (error_) throw Error(*error_);
}

}  // namespace onward
