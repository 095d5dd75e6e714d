// Options compare in their resolved form, so that a default and the same value given count as equal.
#include "tools/resume_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "graph/error.h"
#include "runtime/fingerprint.h"
#include "tools/checkpoint_config.h"
#include "tools/idle_options.h"

namespace onward::cli {

namespace {

struct Change {
  std::string what;  // "--lr", "the training data"
  std::string now, before;
  std::string text() const { return fmt::format("{} {} (was {})", what, now, before); }
};

using Changes = std::vector<Change>;

std::string text_of(const std::string& option, const nlohmann::json& value) {
  if (value.is_null() || value == "" || value == nlohmann::json::array()) return "none";
  if (option == "autotune" && value == "direct") return "none";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Every option whose value differs, if it decides anything on either side. One that the older run did not know counts
// only if it is given now.
Changes changed_options(const Options& options, const nlohmann::json& before) {
  const nlohmann::json now = nlohmann::json::parse(options.resolved_json());
  std::set<std::string> names;
  for (const nlohmann::json* side : {&now, &before}) {
    for (const auto& [name, value] : side->items()) names.insert(name);
  }
  const std::set<std::string> idle_now = idle_options(now), idle_before = idle_options(before);
  Changes changes;
  for (const std::string& name : names) {
    if (!options.has(name) || (!before.contains(name) && !options.given(name))) continue;
    if (idle_now.contains(name) && idle_before.contains(name)) continue;
    const std::string new_text = text_of(name, now.value(name, nlohmann::json())),
                      old_text = text_of(name, before.value(name, nlohmann::json()));
    if (new_text != old_text) changes.push_back({"--" + name, new_text, old_text});
  }
  return changes;
}

// What a run may change without learning anything else, up to rounding.
bool is_free(const std::string& option, const Options& options, const nlohmann::json& before) {
  static const std::set<std::string> free = {"--bucket-mib", "--data",    "--dataset", "--dry-run",    "--keep",
                                             "--max-steps",  "--out",     "--quiet",   "--save-every", "--resume",
                                             "--threads",    "--workers", "--trace"};
  const auto either = [&](const char* name, std::initializer_list<const char*> values) {
    return std::any_of(values.begin(), values.end(), [&](const char* value) {
      return options.text(name) == value || before.value(name, "") == value;
    });
  };
  if (option == "--epochs") return !either("schedule", {"cosine", "linear"});  // these end with the last epoch
  if (option == "--devices") return !either("bn", {"local", "rank0"});
  return free.contains(option);
}

// Optimizers that keep the same state may take over from each other.
std::string state_of(const std::string& optimizer) {
  if (optimizer == "momentum" || optimizer == "nesterov") return "momentum";
  return optimizer == "adam" || optimizer == "adamw" ? "adam" : optimizer;
}

void refuse(const std::string& file, const std::string& expected, const std::string& found) {
  throw Error(ErrorKind::kUsage,
              fmt::format("expected {}, with which the checkpoint '{}' was made, found {}", expected, file, found));
}

std::string join(const Changes& changes) {
  std::vector<std::string> texts;
  for (const Change& change : changes) texts.push_back(change.text());
  return fmt::format("{}", fmt::join(texts, ", "));
}

void check_rest_of_epoch(const Changes& changes, const Checkpoint& checkpoint, const std::string& file) {
  static const std::set<std::string> decides = {"--accumulate", "--batch-size", "--drop-last", "--seed",
                                                "the training data"};
  Changes differing = changes;
  std::erase_if(differing, [](const Change& change) { return !decides.contains(change.what); });
  if (checkpoint.position.batch_in_epoch == 0 || differing.empty()) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("the checkpoint '{}' is from the middle of an epoch, whose other samples are decided by the "
                          "options it began with: expected the same, found {}",
                          file, join(differing)));
}

}  // namespace

std::string identity(const Model& model) {
  const std::string bytes = model.bytes();
  return fingerprint(bytes.data(), bytes.size());
}

std::string identity(const Dataset& data) {
  return fmt::format("{}, {} samples, {}-{}", data.name, data.count(),
                     fingerprint(data.images.data(), data.images.size()),
                     fingerprint(data.labels.data(), data.labels.size() * sizeof(int64_t)));
}

void check_resumable(const Options& options, const std::string& model, const Checkpoint& checkpoint,
                     const std::string& file) {
  for (const Change& change : changed_options(options, config_of(checkpoint))) {
    const bool other_state = change.what == "--optimizer" && state_of(change.now) != state_of(change.before);
    if (other_state || change.what == "--precision")
      refuse(file, change.what + " " + change.before,
             change.what + " " + change.now + "; --config with the config.json of its run repeats its options");
  }
  const auto made_with = checkpoint.metadata.find(kModelIdentity);
  if (made_with != checkpoint.metadata.end() && made_with->second != model)
    refuse(file, "the model", "another one; its run's folder has it as source.onnx");
}

void check_trained(const Options& options, const std::function<Graph()>& update_program, const Checkpoint& checkpoint,
                   const std::string& file) {
  Changes changes = changed_options(options, config_of(checkpoint));
  std::erase_if(changes,
                [](const Change& change) { return change.what != "--freeze" && change.what != "--keep-tied"; });
  if (changes.empty()) return;
  const Graph program = update_program();
  for (const Role role : {Role::kParameter, Role::kState}) {
    for (const Value* value : program.values_with_role(role)) {
      if (checkpoint.tensors.contains(value->name())) continue;
      throw Error(
          ErrorKind::kUsage,
          fmt::format("expected the parameters that were trained when the checkpoint '{}' was made, found {}, "
                      "which trains others: the checkpoint has no '{}'; --config with the config.json of its run "
                      "repeats its options",
                      file, join(changes), value->name()));
    }
  }
}

std::string changes_since(const Options& options, const std::string& data, const Checkpoint& checkpoint,
                          const std::string& file, const std::set<std::string>& idle) {
  const nlohmann::json before = config_of(checkpoint);
  Changes changes = changed_options(options, before);
  std::erase_if(changes, [&](const Change& change) {
    return is_free(change.what, options, before) || idle.contains(change.what.substr(2));
  });
  const auto made_with = checkpoint.metadata.find(kDataIdentity);
  if (made_with != checkpoint.metadata.end() && made_with->second != data)
    changes.push_back({"the training data", data, made_with->second});
  check_rest_of_epoch(changes, checkpoint, file);
  if (changes.empty()) return "";
  return fmt::format("the run goes on from '{}' in another way than it began: {}", file, join(changes));
}

}  // namespace onward::cli
