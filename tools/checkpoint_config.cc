#include "tools/checkpoint_config.h"

namespace onward::cli {

nlohmann::json config_of(const Checkpoint& checkpoint) {
  const auto found = checkpoint.metadata.find(kRunConfig);
  if (found == checkpoint.metadata.end()) return nlohmann::json::object();
  const nlohmann::json config = nlohmann::json::parse(found->second, nullptr, false);
  return config.is_object() ? config : nlohmann::json::object();
}

}  // namespace onward::cli
