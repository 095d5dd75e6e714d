#pragma once
#include <nlohmann/json.hpp>

#include "runtime/checkpoint.h"

namespace onward::cli {

// The key of a checkpoint's metadata under which it keeps the resolved options of its run.
inline constexpr const char* kRunConfig = "config";

// The options of the run that made the checkpoint; an empty object if it does not say.
nlohmann::json config_of(const Checkpoint& checkpoint);

}  // namespace onward::cli
