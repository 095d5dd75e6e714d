#pragma once
#include <string>
#include <vector>

#include "ops/core/kernel.h"

namespace onward {

// One device that holds one replica.
struct Device {
  Backend backend = Backend::kCpu;
  int index = 0;             // among the devices of its backend
  int threads = 1;           // CPU threads of its compute stream
  std::string text() const;  // "cpu:0"
};

// The devices that `--devices` names: "auto", "cpu" (one replica), "cpu:K" (K replicas), "cuda...". `threads` is the
// number of CPU threads that the replicas share, each at least 1; 0 stands for all of the machine's. Error(kUsage) for
// a text that does not parse, Error(kDevice) for a device that is not there.
std::vector<Device> parse_devices(const std::string& text, int threads = 0);

}  // namespace onward
