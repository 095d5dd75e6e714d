#pragma once
#include <cstddef>
#include <cstdint>

#include "graph/types.h"

namespace onward {

// The port through which collectives run. One object per replica; all members of a group call the same collectives in
// the same order with the same sizes. Calls block the calling (communication) thread until the result is in place.
//
// Sums add in ascending rank for every element, whatever the transport, so that every member holds the same bits.
// Errors: Error(kDevice) on a mismatch of kind, count or type among members, on time-out, and once abort() was called.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // data[0, count) becomes the sum over ranks. float32 or float64 or int64.
  virtual void all_reduce_sum(void* data, int64_t count, DType dtype) = 0;
  // receive[r*bytes, (r+1)*bytes) becomes rank r's send[0, bytes).
  virtual void all_gather(const void* send, void* receive, std::size_t bytes) = 0;
  // data[0, bytes) becomes the root's.
  virtual void broadcast(void* data, std::size_t bytes, int root) = 0;
  // Wakes every member that waits in a collective; all current and later calls of the group throw.
  virtual void abort(const char* reason) = 0;
};

}  // namespace onward
