#pragma once
#include <memory>
#include <vector>

#include "ops/core/communicator.h"

namespace onward {

// Communicators of `size` replicas in this process, one per rank, each called by its own thread. Sums read the memory
// of all ranks and add in ascending rank; nothing is allocated in a collective of an ordinary size. A member that waits
// longer than `timeout_seconds` for the others aborts the group with an error that names who is missing.
std::vector<std::unique_ptr<Communicator>> make_local_communicators(int size, double timeout_seconds = 600);

}  // namespace onward
