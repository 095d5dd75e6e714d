#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/error.h"

namespace onward::cli {

// One long option as `--help` shows it. Flags take no value; their default is "false".
struct OptionSpec {
  std::string group;       // heading in --help: "Data", "Devices", ...
  std::string name;        // without dashes
  std::string value_name;  // "N", "PATH"; empty: a flag
  std::string fallback;    // the documented default; empty: none
  std::string help;
  std::vector<std::string> choices;  // empty: any value
  bool repeated = false;             // may be given several times; values are kept in order
  // The value when none follows; only what is no file's name may follow as the next word: letters, digits and -:,
  std::string implicit;
};

// A sub-command: its line in the overview, positional arguments and options.
struct CommandSpec {
  std::string name;
  std::string summary;
  std::string positional;  // as in the usage line: "M.onnx", "DIR..."
  int min_positional = 0;
  int max_positional = 1 << 20;
  std::vector<OptionSpec> options;
  // Options of other commands that a configuration file may hold: they are passed over.
  std::vector<std::string> foreign_options;
};

// The most that options take as numbers, and as counts that are multiplied with each other.
inline constexpr double kMostNumber = 1e38;
inline constexpr int64_t kMostCount = 1'000'000'000;

// Where a value comes from, weakest first.
enum class OptionSource { kDefault, kConfig, kCommandLine };

// Parsed options with typed, checked access. Every getter throws Error(kUsage) naming the option, what was expected and
// what was found. Asking for a name that the command does not have is a programming error (std::logic_error).
class Options {
 public:
  bool has(const std::string& name) const { return entries_.contains(name); }  // the command has such an option
  bool given(const std::string& name) const;  // from the command line or the configuration file
  bool flag(const std::string& name) const;
  std::string text(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;  // of a repeated option
  int64_t integer(const std::string& name, int64_t min, int64_t max = INT64_MAX) const;
  // From `min` (where `exclusive`, above it) to `max`, which is never more than float32 holds.
  double number(const std::string& name, double min, bool exclusive = false, double max = kMostNumber) const;
  const std::vector<std::string>& positional() const { return positional_; }

  // Puts a value that the program worked out in the place of the one given; it counts as given.
  void replace(const std::string& name, const std::string& value);

  // Takes the values of some options from a configuration file, where the command line gave none.
  void adopt(const std::string& config_file, const std::vector<std::string>& names);

  // All options of the command with their values in force, as JSON text with sorted names: what config.json holds.
  std::string resolved_json() const;

 private:
  friend class OptionParser;
  struct Entry {
    OptionSpec spec;
    std::vector<std::string> values;
    OptionSource source = OptionSource::kDefault;
  };
  const Entry& entry(const std::string& name) const;
  std::map<std::string, Entry> entries_;
  std::vector<std::string> positional_;
};

// Parses the arguments after the sub-command. An unknown option or value is an Error(kUsage) that names the nearest
// valid one. If the command has an option `config`, the JSON file it names supplies values that flags override; keys
// are option names.
Options parse_options(const CommandSpec& command, const std::vector<std::string>& arguments);

// The text of `onward COMMAND --help`: usage, then options by group with their defaults.
std::string help_text(const CommandSpec& command);

// The candidate with the least edit distance to `word`; "" if none is near (more than half of the word differs).
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// Calls `parse`; an Error(kUsage) from it gets the candidate that is nearest to `word` as a note, unless the word is
// one.
template <typename Parse>
auto with_suggestion(const std::string& word, const std::vector<std::string>& candidates, Parse&& parse) {
  try {
    return parse();
  } catch (Error& error) {
    const std::string near = nearest(word, candidates);
    if (error.kind() == ErrorKind::kUsage && !near.empty() && near != word) error.note("did you mean " + near + "?");
    throw;
  }
}

}  // namespace onward::cli
