#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/core/registry.h"

namespace onward {

// A node that a pass is about to add.
struct NewNode {
  OpId op;
  std::vector<Value*> inputs;
  std::vector<std::string> outputs;  // names of the new values
  Attributes attributes = {};
  std::string origin;
};

// Adds the node before `before` (nullptr: at the end) and infers its types.
Node& emit_node(Graph& graph, const Registry& registry, NewNode node, Node* before = nullptr);

// `replacement` becomes the graph output that `old` was, at the same place. Nodes go on reading `old`.
void replace_output(Graph& graph, Value& old, Value& replacement);

// `replacement` takes the name of `old`, which becomes "<name>.<suffix>".
void take_name(Graph& graph, Value& old, Value& replacement, const std::string& suffix);

}  // namespace onward
