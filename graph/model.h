#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace onward {

// A tensor of its own for one input of one node that shares a stored tensor with other nodes in the file.
struct SeparateTensor {
  std::string name;  // of the new initializer; not yet in the file
  HostTensor value;
  std::string output;  // the node is the one of the main graph that makes this value
  int input = 0;
};

// An edit of a model for export.
struct ModelEdits {
  // Name -> new value, dtype and shape as in the file. A name is that of an initializer, of the output of a Constant
  // node, or of the output of an Identity of one of these (a tensor that an exporter tied): the Identity then becomes
  // an initializer.
  std::map<std::string, HostTensor> tensors;
  std::vector<SeparateTensor> separate;
  // BatchNormalization and Dropout back in inference form, in functions and subgraphs too. Training outputs of
  // BatchNormalization that something uses, or that are outputs of the file, are copies of the statistics then.
  bool inference_form = false;
};

// The imported file, kept unchanged, unknown fields and parts that are not executed included. Copies share it. External
// data is brought inline when loading: what is written stands alone.
class Model {
 public:
  // Reads and parses a file and the external data it names.
  // Error(kModel): missing, empty, not ONNX, truncated, 2 GiB or more (without external data: a limit of Protocol
  // Buffers), external data missing, short, absolute or outside the folder, tensors whose data does not fit their
  // shape, values that nothing makes or that are made twice.
  static Model load(const std::string& path);
  // Serialises a graph: weights inline, one node a node, opset 17 unless graph.opsets says otherwise; updates become
  // training information. For files that this program builds. `metadata` goes to metadata_props.
  static Model from_graph(const Graph& graph, const std::map<std::string, std::string>& metadata = {});
  static Model from_bytes(const std::string& bytes, const std::string& name);

  // The program as a graph. Initializers become constants with their data (roles are given by the passes); those that
  // are also listed as inputs are not inputs. Inputs keep declared types with symbolic dimensions. Functions stay
  // calls, Constant nodes stay nodes, subgraphs are opaque attributes. Initializers of sparse tensors, strings and
  // element types that are newer than this program become Constant nodes with an opaque attribute.
  Graph graph() const;

  // One function of the file (ModelProto.functions), as a graph of its formal inputs and outputs; nullptr if there is
  // none.
  struct Function {
    Graph graph;
    std::vector<std::string> attributes;        // formal attribute names
    std::map<std::string, Attribute> defaults;  // of attributes with a default
  };
  const Function* function(const OpId& op) const;

  // The file with the declared edits and nothing else changed. Error(kModel): a name that the file does not store,
  // another type or shape.
  Model edited(const ModelEdits& edits) const;
  // The same bytes every time. Error(kModel) if the model does not fit in 2 GiB.
  std::string bytes() const;
  // Writes to a temporary file beside `path`, then renames. Error(kRun) when that fails; nothing is left behind.
  void save(const std::string& path) const;

  int64_t ir_version() const;
  // An entry of the file's metadata; "" if there is none.
  std::string metadata(const std::string& key) const;
  const std::string& path() const;
  // Names of initializers that the file stores.
  std::vector<std::string> initializers() const;

  struct Impl;  // holds the ModelProto; defined in the ONNX sources only
  explicit Model(std::shared_ptr<const Impl> impl);

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace onward
