#include "tools/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <set>

namespace onward::cli {

namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = spdlog::stderr_logger_mt("onward");
    made->set_pattern("%v");
    return made;
  }();
  return *instance;
}

// True the first time a text is seen: programs of several batch sizes repeat what they say.
bool first_time(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  const std::lock_guard lock(mutex);
  return seen.insert(text).second;
}

}  // namespace

void say(const std::string& fact) {
  if (first_time(fact)) logger().info("{}", fact);
}

void warn(const std::string& text) {
  if (first_time(text)) logger().warn("warning: {}", text);
}

void be_quiet() { logger().set_level(spdlog::level::warn); }

}  // namespace onward::cli
