#include "runtime/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "graph/error.h"

namespace onward {

namespace {

int parse_count(const std::string& text, const std::string& digits) {
  int count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size() || count < 1) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--devices {}: expected cpu:K with a number of replicas K of at least 1, "
                            "found '{}'",
                            text, digits));
  }
  return count;
}

}  // namespace

std::string Device::text() const { return fmt::format("{}:{}", backend_name(backend), index); }

std::vector<Device> parse_devices(const std::string& text, int threads) {
  int replicas = 1;
  if (text.starts_with("cpu:")) {
    replicas = parse_count(text, text.substr(4));
  } else if (text == "cuda" || text.starts_with("cuda:") || text.starts_with("cuda*")) {
    throw Error(
        ErrorKind::kDevice,
        fmt::format("--devices {}: this program has no CUDA plugin that it could load; use --devices cpu", text));
  } else if (text != "auto" && text != "cpu") {
    throw Error(ErrorKind::kUsage, fmt::format("expected --devices auto, cpu, cpu:K or cuda..., found '{}'", text));
  }
  if (threads < 0) throw Error(ErrorKind::kUsage, fmt::format("expected a number of threads, found {}", threads));
  if (threads == 0) threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<Device> devices;
  for (int i = 0; i < replicas; ++i) devices.push_back({Backend::kCpu, i, std::max(1, threads / replicas)});
  return devices;
}

}  // namespace onward
