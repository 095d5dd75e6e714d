#pragma once
// GPUs that are not there: what the fakes of the CUDA run time, NCCL, cuDNN and cuBLASLt share, and how a test steers
// them. Work is queued per stream and run later, in an order that a seeded scheduler chooses among all that streams and
// events allow; device memory faults when the host touches it; vector clocks tell which accesses nothing orders.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace onward::fake {

// A range of device (or pinned host) memory that an operation reads or writes.
struct Access {
  const void* data = nullptr;
  std::size_t bytes = 0;
  bool writes = false;
};

// Queues work on a stream (a cudaStream_t). It runs once, later, with device memory accessible; `what` names it in
// reports. Accesses are checked against those of other streams when it runs.
void enqueue(void* stream, std::string what, std::vector<Access> accesses, std::function<void()> work);

// To be called first by every faked function that may fail: counts the call, and says whether a test wants this call to
// fail. Nothing is done then but to return the library's error code.
bool fails(const char* function);

// Objects that a library hands out and gets back, so that a test sees what leaks: handles, descriptors.
void object_made(const char* kind);
void object_destroyed(const char* kind);

}  // namespace onward::fake
