#include "tests/support/paths.h"

namespace onward::test {

std::string source_dir() { return ONWARD_SOURCE_DIR; }
std::string binary_dir() { return ONWARD_BINARY_DIR; }

}  // namespace onward::test
