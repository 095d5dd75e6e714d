#include "runtime/fingerprint.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace onward {

std::string fingerprint(const void* data, std::size_t bytes) {
  return fmt::format("{:016x}", XXH3_64bits(data, bytes));
}

}  // namespace onward
