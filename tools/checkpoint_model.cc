#include "tools/checkpoint_model.h"

#include <fmt/format.h>

#include <map>

#include "graph/error.h"
#include "passes/state_source.h"
#include "passes/untie.h"
#include "tools/run_folder.h"

namespace onward::cli {

namespace {

// Puts the tensors of a checkpoint into the places of the file that they came from.
class TrainedTensors {
 public:
  explicit TrainedTensors(const Model& source) : graph_(source.graph()) {
    for (const UntiedTensor& copy : untied_tensors(source)) copies_.emplace(copy.name, copy);
  }

  void add(const std::string& name, const HostTensor& tensor) {
    const auto copy = copies_.find(name);
    const Value* stored = state_source(graph_.find_value(copy == copies_.end() ? name : copy->second.source));
    if (!stored || stored->data.empty()) return;  // optimizer state, or a generator's own value
    if (stored->type.shape() != tensor.shape()) {
      throw Error(ErrorKind::kData,
                  fmt::format("expected '{}' of the checkpoint to be {}, found {}; is source.onnx the "
                              "model that was trained?",
                              name, stored->type.text(), tensor.type().text()));
    }
    HostTensor value = tensor.cast(stored->type.dtype);
    if (copy == copies_.end()) {
      edits.tensors.emplace(name, std::move(value));
    } else {
      edits.separate.push_back({name, std::move(value), copy->second.node_output, copy->second.input});
    }
  }

  ModelEdits edits;

 private:
  Graph graph_;
  std::map<std::string, UntiedTensor> copies_;
};

}  // namespace

Model trained_model(const Model& source, const Checkpoint& checkpoint) {
  TrainedTensors trained(source);
  for (const auto& [name, tensor] : checkpoint.tensors) trained.add(name, tensor);
  trained.edits.inference_form = true;
  return source.edited(trained.edits);
}

Model open_model(const std::string& argument, const std::string& which) {
  if (names_model(argument)) return Model::load(argument);
  const RunFiles files = find_run(argument, which);
  return trained_model(Model::load(files.source), load_checkpoint(files.checkpoint));
}

}  // namespace onward::cli
