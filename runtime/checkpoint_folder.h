#pragma once
#include <cstdint>
#include <string>

#include "runtime/checkpoint.h"

namespace onward {

inline constexpr const char* kLastCheckpoint = "last.safetensors";
inline constexpr const char* kBestCheckpoint = "best.safetensors";

// FOLDER/last.safetensors; "" if it is not there, or there is no folder ("").
std::string last_checkpoint(const std::string& folder);

// Writes FOLDER/last.safetensors and, as asked, gives the same file the names best.safetensors and
// step-00000123.safetensors (of which the newest `keep` stay). A reader sees each name with its old or its new content,
// never in between. Error(kRun).
void save_to_folder(const std::string& folder, const Checkpoint& checkpoint, bool best, int64_t keep);

}  // namespace onward
