#pragma once
#include <string>

namespace onward::test {

// The root of the sources, and the folder of this build.
std::string source_dir();
std::string binary_dir();

}  // namespace onward::test
