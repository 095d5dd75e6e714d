#include "tools/autotune_option.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/error.h"
#include "tools/checkpoint_config.h"

namespace onward::cli {

namespace {

constexpr const char* kOption = "autotune";
constexpr const char* kMeasure = "measure";
constexpr const char* kDirect = "direct";

}  // namespace

bool asks_to_measure(const Options& options) { return options.text(kOption) == kMeasure; }

std::set<std::string> chosen_algorithms(const Options& options) {
  const std::string text = options.text(kOption);
  std::set<std::string> keys;
  if (text == kMeasure || text == kDirect) return keys;
  std::istringstream stream(text);
  for (std::string key; std::getline(stream, key, ',');) keys.insert(key);
  return keys;
}

void check_autotune(const Options& options) {
  for (const std::string& key : chosen_algorithms(options)) {
    if (key.find(':') != std::string::npos) continue;
    with_suggestion(key, {kMeasure, kDirect}, [&] {
      throw Error(
          ErrorKind::kUsage,
          fmt::format("expected --autotune alone, measure, direct, or the list of a run's config.json, found '{}'",
                      key));
    });
  }
  if (options.flag("winograd") && !options.text(kOption).empty())
    throw Error(ErrorKind::kUsage, "expected --winograd or --autotune, found both");
}

std::string autotune_text(const std::set<std::string>& winograd_for) {
  return winograd_for.empty() ? kDirect : fmt::format("{}", fmt::join(winograd_for, ","));
}

void adopt_choice(Options& options, const Checkpoint& checkpoint) {
  if (!asks_to_measure(options)) return;
  const std::string choice = config_of(checkpoint).value(kOption, "");
  if (!choice.empty()) options.replace(kOption, choice);
}

}  // namespace onward::cli
