#include "tests/support/paths.h"

namespace onward::testing_support {

std::string source_dir() { return ONWARD_SOURCE_DIR; }
std::string binary_dir() { return ONWARD_BINARY_DIR; }

}  // namespace onward::testing_support
