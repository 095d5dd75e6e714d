#include "tools/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cxxopts.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "graph/error.h"
#include "graph/file_io.h"

namespace onward::cli {

namespace {

Error usage_error(const std::string& message) { return Error(ErrorKind::kUsage, message); }

std::vector<std::string> option_names(const CommandSpec& command) {
  std::vector<std::string> names{"help"};
  for (const OptionSpec& option : command.options) names.push_back(option.name);
  return names;
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates, const char* prefix) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : fmt::format("; did you mean {}{}?", prefix, near);
}

void check_choice(const OptionSpec& spec, const std::string& value) {
  if (spec.choices.empty() || std::find(spec.choices.begin(), spec.choices.end(), value) != spec.choices.end()) return;
  throw usage_error(fmt::format("expected --{} to be one of {}, found '{}'{}", spec.name, fmt::join(spec.choices, ", "),
                                value, did_you_mean(value, spec.choices, "")));
}

// cxxopts would report only the first letter of an unknown word and knows no suggestions, so names are checked first.
void check_names(const CommandSpec& command, const std::vector<std::string>& arguments) {
  const std::vector<std::string> names = option_names(command);
  for (const std::string& argument : arguments) {
    if (argument == "--") return;
    if (argument.size() < 2 || argument[0] != '-' || std::isdigit(static_cast<unsigned char>(argument[1]))) continue;
    const std::string name =
        argument.substr(argument[1] == '-' ? 2 : 1, argument.find('=') - (argument[1] == '-' ? 2 : 1));
    if (argument[1] == '-' && std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (argument == "-h" || (argument == "-o" && std::find(names.begin(), names.end(), "output") != names.end()))
      continue;
    throw usage_error(fmt::format("unknown option '{}' of onward {}{}; see onward {} --help", argument, command.name,
                                  did_you_mean(name, names, "--"), command.name));
  }
}

// The option that is named exactly so and takes a value; nullptr if there is none.
const OptionSpec* option_with_value(const CommandSpec& command, const std::string& argument) {
  for (const OptionSpec& option : command.options) {
    if (argument == "--" + option.name && !option.value_name.empty()) return &option;
  }
  return nullptr;
}

// What cannot be taken for a file: the value of an option that may have none.
bool is_plain_word(const std::string& text) {
  return !text.empty() && text[0] != '-' && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == ':' || c == ',';
  });
}

// Values that start with a dash or hold commas are joined to their option, so that cxxopts takes them whole.
std::vector<std::string> join_values(const CommandSpec& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string argument = arguments[i] == "-o" ? "--output" : arguments[i] == "-h" ? "--help" : arguments[i];
    if (argument == "--") {
      joined.insert(joined.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const OptionSpec* spec = option_with_value(command, argument);
    if (spec && i + 1 < arguments.size() && (spec->implicit.empty() || is_plain_word(arguments[i + 1]))) {
      argument += "=" + arguments[++i];
    } else if (spec && !spec->implicit.empty()) {
      argument += "=" + spec->implicit;
    } else if (spec) {
      throw usage_error(fmt::format("expected a value after {}, found none", argument));
    }
    joined.push_back(std::move(argument));
  }
  return joined;
}

std::string json_to_text(const std::string& name, const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean() || value.is_number()) return value.dump();
  throw usage_error(
      fmt::format("expected the value of '{}' in the configuration to be text, a number or a truth value, found {}",
                  name, value.dump()));
}

nlohmann::json read_config(const std::string& path) {
  nlohmann::json config;
  try {
    config = nlohmann::json::parse(read_file(path, ErrorKind::kUsage), nullptr, true, true);
  } catch (const Error& error) {
    throw usage_error(fmt::format("cannot read the configuration file '{}': {}", path, error.message()));
  } catch (const nlohmann::json::parse_error& error) {
    throw usage_error(fmt::format("expected a JSON object in the configuration file '{}', found a mistake at byte {}",
                                  path, error.byte));
  }
  if (!config.is_object())
    throw usage_error(fmt::format("expected a JSON object in the configuration file '{}'", path));
  return config;
}

nlohmann::json typed(const OptionSpec& spec, const std::string& value) {
  if (spec.value_name.empty()) return value == "true";
  const nlohmann::json parsed = nlohmann::json::parse(value, nullptr, false);
  return parsed.is_number() ? parsed : nlohmann::json(value);
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = word.size() / 2 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

class OptionParser {
 public:
  OptionParser(const CommandSpec& command, Options& options) : command_(command), options_(options) {
    for (const OptionSpec& spec : command.options) {
      Options::Entry entry{spec, {}, OptionSource::kDefault};
      if (spec.value_name.empty()) entry.values = {"false"};
      if (!spec.fallback.empty()) entry.values = {spec.fallback};
      options_.entries_.emplace(spec.name, std::move(entry));
    }
  }

  void command_line(const std::vector<std::string>& arguments) {
    check_names(command_, arguments);
    cxxopts::Options parser("onward " + command_.name);
    for (const OptionSpec& spec : command_.options) {
      parser.add_options()(spec.name, spec.help,
                           spec.value_name.empty() ? cxxopts::value<std::string>()->implicit_value("true")
                                                   : cxxopts::value<std::string>());
    }
    parser.allow_unrecognised_options();
    std::vector<std::string> joined = join_values(command_, arguments);
    std::vector<const char*> argv{command_.name.c_str()};
    for (const std::string& argument : joined) argv.push_back(argument.c_str());
    try {
      const cxxopts::ParseResult result = parser.parse(static_cast<int>(argv.size()), argv.data());
      for (const cxxopts::KeyValue& item : result.arguments())
        set(item.key(), item.value(), OptionSource::kCommandLine);
      options_.positional_ = result.unmatched();
    } catch (const std::exception& error) {
      throw usage_error(fmt::format("{}; see onward {} --help", error.what(), command_.name));
    }
    std::erase(options_.positional_, "--");
  }

  void config(const std::string& path) {
    const nlohmann::json values = read_config(path);
    for (const auto& [name, value] : values.items()) {
      const auto found = options_.entries_.find(name);
      if (found == options_.entries_.end() && contains(command_.foreign_options, name)) continue;
      if (found == options_.entries_.end()) {
        throw usage_error(fmt::format("unknown option '{}' in the configuration file '{}'{}", name, path,
                                      did_you_mean(name, option_names(command_), "")));
      }
      if (found->second.source == OptionSource::kCommandLine || value.is_null()) continue;
      if (value.is_array() && found->second.spec.repeated) {
        for (const auto& item : value) set(name, json_to_text(name, item), OptionSource::kConfig);
      } else {
        set(name, json_to_text(name, value), OptionSource::kConfig);
      }
    }
  }

 private:
  void set(const std::string& name, const std::string& value, OptionSource source) {
    Options::Entry& entry = options_.entries_.at(name);
    if (entry.spec.value_name.empty() && value != "true" && value != "false") {
      throw usage_error(fmt::format("expected --{} to be true or false, found '{}'", name, value));
    }
    check_choice(entry.spec, value);
    if (entry.source != source || !entry.spec.repeated) entry.values.clear();
    entry.values.push_back(value);
    entry.source = source;
  }

  const CommandSpec& command_;
  Options& options_;
};

Options parse_options(const CommandSpec& command, const std::vector<std::string>& arguments) {
  Options options;
  OptionParser parser(command, options);
  parser.command_line(arguments);
  const auto has_config = [](const OptionSpec& o) { return o.name == "config"; };
  if (std::any_of(command.options.begin(), command.options.end(), has_config) && options.given("config")) {
    parser.config(options.text("config"));
  }
  const int count = static_cast<int>(options.positional().size());
  if (count < command.min_positional || count > command.max_positional) {
    throw usage_error(fmt::format("expected: onward {} {} [options], found {} argument{}{}", command.name,
                                  command.positional, count, count == 1 ? "" : "s",
                                  count ? fmt::format(" ({})", fmt::join(options.positional(), " ")) : ""));
  }
  return options;
}

void Options::adopt(const std::string& config_file, const std::vector<std::string>& names) {
  const nlohmann::json values = read_config(config_file);
  for (const std::string& name : names) {
    Entry& found = entries_.at(name);
    if (found.source == OptionSource::kDefault && values.contains(name))
      found.values = {json_to_text(name, values.at(name))};
  }
}

void Options::replace(const std::string& name, const std::string& value) {
  Entry& found = entries_.at(name);
  found.values = {value};
  found.source = OptionSource::kCommandLine;
}

const Options::Entry& Options::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw std::logic_error("the command has no option " + name);
  return found->second;
}

bool Options::given(const std::string& name) const { return entry(name).source != OptionSource::kDefault; }

bool Options::flag(const std::string& name) const { return text(name) == "true"; }

std::string Options::text(const std::string& name) const {
  const Entry& found = entry(name);
  return found.values.empty() ? "" : found.values.back();
}

std::vector<std::string> Options::texts(const std::string& name) const { return entry(name).values; }

int64_t Options::integer(const std::string& name, int64_t min, int64_t max) const {
  const std::string value = text(name);
  int64_t parsed = 0;
  const auto result = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (result.ec != std::errc() || result.ptr != value.data() + value.size() || parsed < min || parsed > max) {
    const std::string range =
        max == INT64_MAX ? fmt::format("of at least {}", min) : fmt::format("from {} to {}", min, max);
    throw usage_error(fmt::format("expected --{} to be a whole number {}, found '{}'", name, range, value));
  }
  return parsed;
}

double Options::number(const std::string& name, double min, bool exclusive, double max) const {
  const std::string value = text(name);
  double parsed = 0;
  const auto result = std::from_chars(value.data(), value.data() + value.size(), parsed);
  const bool whole = result.ec == std::errc() && result.ptr == value.data() + value.size();
  if (!whole || std::isnan(parsed) || parsed < min || (exclusive && parsed == min) || parsed > max) {
    throw usage_error(fmt::format("expected --{} to be a number {} {} and at most {}, found '{}'", name,
                                  exclusive ? "greater than" : "of at least", min, max, value));
  }
  return parsed;
}

std::string Options::resolved_json() const {
  nlohmann::json resolved = nlohmann::json::object();
  for (const auto& [name, found] : entries_) {
    if (name == "config") continue;
    if (found.spec.repeated) {
      resolved[name] = found.values;
    } else if (!found.values.empty()) {
      resolved[name] = typed(found.spec, found.values.back());
    }
  }
  return resolved.dump(2);
}

std::string help_text(const CommandSpec& command) {
  std::string text = fmt::format("Usage: onward {} {}{}[options]\n\n{}\n", command.name, command.positional,
                                 command.positional.empty() ? "" : " ", command.summary);
  std::vector<std::string> groups;
  for (const OptionSpec& option : command.options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  for (const std::string& group : groups) {
    text += fmt::format("\n{}:\n", group);
    for (const OptionSpec& option : command.options) {
      if (option.group != group) continue;
      const std::string left =
          option.value_name.empty() ? "--" + option.name : fmt::format("--{} {}", option.name, option.value_name);
      const std::string choices = option.choices.empty() ? "" : fmt::format(" ({})", fmt::join(option.choices, ", "));
      const std::string fallback = option.fallback.empty() ? "" : fmt::format(" [default: {}]", option.fallback);
      text += fmt::format("  {:<28} {}{}{}\n", left, option.help, choices, fallback);
    }
  }
  return text;
}

}  // namespace onward::cli
