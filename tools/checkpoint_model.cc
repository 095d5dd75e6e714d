#include "tools/checkpoint_model.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "tools/run_folder.h"

namespace onward::cli {

Model trained_model(const Model& source, const Checkpoint& checkpoint) {
  const Graph graph = source.graph();
  ModelEdits edits;
  edits.inference_form = true;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const Value* value = graph.find_value(name);
    if (!value) continue;  // optimizer state, or a generator's own value
    if (value->type.is_static() && value->type.shape() != tensor.shape()) {
      throw Error(ErrorKind::kData,
                  fmt::format("expected '{}' of the checkpoint to be {}, found {}; is source.onnx the "
                              "model that was trained?",
                              name, value->type.text(), tensor.type().text()));
    }
    edits.tensors.emplace(name, value->type.dtype == DType::kUndefined ? tensor : tensor.cast(value->type.dtype));
  }
  return source.edited(edits);
}

Model open_model(const std::string& argument, const std::string& which) {
  if (names_model(argument)) return Model::load(argument);
  const RunFiles files = find_run(argument, which);
  return trained_model(Model::load(files.source), load_checkpoint(files.checkpoint));
}

}  // namespace onward::cli
