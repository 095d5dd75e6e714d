#pragma once
#include <cstddef>
#include <string>

namespace onward {

// 16 hexadecimal digits of XXH3-64: equal for equal bytes, on every machine.
std::string fingerprint(const void* data, std::size_t bytes);

}  // namespace onward
