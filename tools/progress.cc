#include "tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace onward::cli {

namespace {

constexpr int kWidth = 30;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

ProgressBar::ProgressBar() : terminal_(::isatty(STDERR_FILENO)) {}

void ProgressBar::show(double fraction, const std::string& text) {
  if (!terminal_ || (shown_ && now() - last_ < 0.1)) return;
  const int filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kWidth);
  fmt::print(stderr, "\r[{}{}] {:3.0f}%  {}\033[K", std::string(filled, '#'), std::string(kWidth - filled, '.'),
             fraction * 100, text);
  std::fflush(stderr);
  shown_ = true;
  last_ = now();
}

void ProgressBar::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace onward::cli
