#include "runtime/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "graph/error.h"
#include "runtime/safetensors.h"

namespace onward {

namespace {

constexpr const char* kFormat = "onward checkpoint 1";

template <typename Visit>
void visit_fields(Visit&& visit, auto& position) {
  visit("step", position.step);
  visit("batch", position.batch);
  visit("epoch", position.epoch);
  visit("batch_in_epoch", position.batch_in_epoch);
  visit("epoch_samples", position.epoch_samples);
  visit("epoch_loss", position.epoch_loss);
  visit("skipped_steps", position.skipped_steps);
  visit("best_accuracy", position.best_accuracy);
  visit("best_epoch", position.best_epoch);
}

template <typename T>
bool parse(const std::string& text, T& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

// Splits "replica.3/bn1.running_mean" into 3 and the name; -1 for a name without a replica.
std::pair<int64_t, std::string> split_replica(const std::string& name) {
  static const std::string prefix = "replica.";
  const std::size_t slash = name.find('/');
  int64_t replica = -1;
  if (name.rfind(prefix, 0) == 0 && slash != std::string::npos &&
      parse(name.substr(prefix.size(), slash - prefix.size()), replica) && replica >= 0 && replica < 1 << 20) {
    return {replica, name.substr(slash + 1)};
  }
  return {-1, name};
}

// The format keeps one name for itself and this program keeps another for replicas; a tensor of such a name is marked.
std::string marked(const std::string& name) {
  const bool taken = name == "__metadata__" || name.rfind("replica.", 0) == 0 || name.rfind("=", 0) == 0;
  return taken ? "=" + name : name;
}

std::string unmarked(const std::string& name) { return name.rfind("=", 0) == 0 ? name.substr(1) : name; }

void read_position(const std::string& path, std::map<std::string, std::string>& metadata, TrainingPosition& position) {
  visit_fields(
      [&](const char* name, auto& value) {
        const auto found = metadata.find(name);
        if (found == metadata.end() || !parse(found->second, value)) {
          throw Error(ErrorKind::kData, fmt::format("expected the number '{}' in the metadata of '{}', found {}", name,
                                                    path, found == metadata.end() ? "none" : found->second));
        }
        metadata.erase(found);
      },
      position);
}

}  // namespace

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  Safetensors file;
  for (const auto& [name, tensor] : checkpoint.tensors) file.tensors.emplace_back(marked(name), tensor);
  for (std::size_t replica = 0; replica < checkpoint.replica_tensors.size(); ++replica) {
    for (const auto& [name, tensor] : checkpoint.replica_tensors[replica]) {
      file.tensors.emplace_back(fmt::format("replica.{}/{}", replica, name), tensor);
    }
  }
  file.metadata = checkpoint.metadata;
  file.metadata["format"] = kFormat;
  // The shortest decimal that reads back to the same double.
  visit_fields([&](const char* name, const auto& value) { file.metadata[name] = fmt::format("{}", value); },
               checkpoint.position);
  save_safetensors(path, file);
}

Checkpoint load_checkpoint(const std::string& path) {
  Safetensors file = load_safetensors(path, true);
  const auto format = file.metadata.find("format");
  if (format == file.metadata.end() || format->second != kFormat) {
    throw Error(ErrorKind::kData,
                fmt::format("expected '{}' to be an '{}', found {}", path, kFormat,
                            format == file.metadata.end() ? "another safetensors file" : format->second));
  }
  Checkpoint checkpoint;
  file.metadata.erase(format);
  read_position(path, file.metadata, checkpoint.position);
  checkpoint.metadata = std::move(file.metadata);
  for (auto& [name, tensor] : file.tensors) {
    const auto [replica, own_name] = split_replica(name);
    if (replica < 0) {
      checkpoint.tensors.emplace(unmarked(own_name), std::move(tensor));
      continue;
    }
    auto& list = checkpoint.replica_tensors;
    if (static_cast<std::size_t>(replica) >= list.size()) list.resize(static_cast<std::size_t>(replica) + 1);
    list[static_cast<std::size_t>(replica)].emplace(own_name, std::move(tensor));
  }
  return checkpoint;
}

TensorMap weighted_mean(const std::vector<TensorMap>& replicas, const std::vector<int64_t>& samples) {
  const int64_t total = std::accumulate(samples.begin(), samples.end(), int64_t{0});
  TensorMap mean;
  if (replicas.empty()) return mean;
  for (const auto& [name, first] : replicas.front()) {
    std::vector<double> sum(static_cast<std::size_t>(first.count()), 0.0);
    for (std::size_t r = 0; r < replicas.size(); ++r) {
      const double weight = total ? static_cast<double>(samples.at(r)) / static_cast<double>(total)
                                  : 1.0 / static_cast<double>(replicas.size());
      const std::vector<double> values = replicas[r].at(name).to_double();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * values[i];
    }
    mean.emplace(name, HostTensor::from<double>(first.shape(), sum).cast(first.dtype()));
  }
  return mean;
}

TensorMap shared_state(LocalState rule, const std::vector<TensorMap>& replicas, const std::vector<int64_t>& samples) {
  return rule == LocalState::kFirst ? replicas.front() : weighted_mean(replicas, samples);
}

}  // namespace onward
