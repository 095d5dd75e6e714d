#include "runtime/checkpoint_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "graph/error.h"

namespace onward {

namespace fs = std::filesystem;

namespace {

// Gives a finished file a second name. The file under the old name is never written again, only replaced, so both names
// keep whole content. A file system without links gets a copy.
void give_name(const fs::path& file, const fs::path& name) {
  const fs::path temporary = name.string() + ".tmp";
  std::error_code error;
  fs::remove(temporary, error);
  fs::create_hard_link(file, temporary, error);
  if (error) fs::copy_file(file, temporary, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(temporary, name, error);
  if (error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw Error(ErrorKind::kRun, fmt::format("cannot write '{}': {}", name.string(), error.message()));
  }
}

void remove_old_steps(const fs::path& folder, int64_t keep) {
  std::vector<fs::path> steps;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.rfind("step-", 0) == 0 && entry.path().extension() == ".safetensors") steps.push_back(entry.path());
  }
  std::sort(steps.begin(), steps.end());
  std::error_code ignored;
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < steps.size(); ++i) fs::remove(steps[i], ignored);
}

}  // namespace

std::string last_checkpoint(const std::string& folder) {
  const fs::path last = fs::path(folder) / kLastCheckpoint;
  std::error_code error;
  return !folder.empty() && fs::exists(last, error) ? last.string() : "";
}

void save_to_folder(const std::string& folder, const Checkpoint& checkpoint, bool best, int64_t keep) {
  const fs::path last = fs::path(folder) / kLastCheckpoint;
  save_checkpoint(last, checkpoint);
  if (best) give_name(last, fs::path(folder) / kBestCheckpoint);
  if (keep > 0) {
    give_name(last, fs::path(folder) / fmt::format("step-{:08}.safetensors", checkpoint.position.step));
    remove_old_steps(folder, keep);
  }
}

}  // namespace onward
