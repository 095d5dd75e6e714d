#include "runtime/data/normalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "graph/error.h"

namespace onward {

namespace {

struct Named {
  const char* name;
  Normalisation constants;
};

// Each data set's own statistics over its training images; ImageNet's as most published models use them.
const std::vector<Named>& named_constants() {
  static const std::vector<Named> constants{
      {"cifar10", {{.4914, .4822, .4465}, {.2470, .2435, .2616}}},
      {"cifar100", {{.5071, .4865, .4409}, {.2673, .2564, .2762}}},
      {"mnist", {{.1307}, {.3081}}},
      {"fashion-mnist", {{.2860}, {.3530}}},
      {"imagenet", {{.485, .456, .406}, {.229, .224, .225}}},
      {"none", {{0}, {1}}},
  };
  return constants;
}

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorKind::kUsage, fmt::format("expected --normalize auto, cifar10, cifar100, mnist, fashion-mnist, "
                                             "imagenet, none or means and deviations as "
                                             "M,M,M/S,S,S, found '{}'",
                                             text));
}

std::vector<double> parse_numbers(std::string_view list, std::string_view whole) {
  std::vector<double> numbers;
  while (true) {
    const std::size_t comma = std::min(list.find(','), list.size());
    double value = 0;
    const auto [end, error] = std::from_chars(list.data(), list.data() + comma, value);
    if (error != std::errc() || end != list.data() + comma || !std::isfinite(value)) refuse(whole);
    numbers.push_back(value);
    if (comma == list.size()) return numbers;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

Normalisation parse_normalisation(std::string_view text, std::string_view dataset_name) {
  std::string_view name = text == "auto" ? dataset_name : text;
  if (text == "auto" && name == "synthetic") name = "none";
  for (const Named& known : named_constants()) {
    if (name == known.name) return known.constants;
  }
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) refuse(text);
  Normalisation given{parse_numbers(text.substr(0, slash), text), parse_numbers(text.substr(slash + 1), text)};
  for (const double s : given.std_dev) {
    if (s <= 0)
      throw Error(ErrorKind::kUsage,
                  fmt::format("expected deviations above zero in --normalize, found {} in '{}'", s, text));
  }
  return given;
}

NormaliseTable::NormaliseTable(const Normalisation& constants, int64_t channels)
    : rows_(static_cast<std::size_t>(channels)) {
  for (const std::size_t size : {constants.mean.size(), constants.std_dev.size()}) {
    if (size != 1 && size != rows_.size()) {
      throw Error(ErrorKind::kUsage, fmt::format("expected one normalisation constant or one for each of {} channels, "
                                                 "found {}; choose others with --normalize",
                                                 channels, size));
    }
  }
  for (std::size_t c = 0; c < rows_.size(); ++c) {
    const double mean = constants.mean[constants.mean.size() == 1 ? 0 : c];
    const double std_dev = constants.std_dev[constants.std_dev.size() == 1 ? 0 : c];
    for (std::size_t byte = 0; byte < 256; ++byte)
      rows_[c][byte] = static_cast<float>((static_cast<double>(byte) / 255.0 - mean) / std_dev);
  }
}

}  // namespace onward
