#include "passes/remove_identities.h"

namespace onward {
namespace {

void remove(Graph& graph, PassContext&) {
  for (Node* node : graph.node_list()) {
    if (!node->is("Identity") || !node->output(0) || graph.is_output(*node->output(0))) continue;
    graph.replace_uses(*node->output(0), *node->input(0));
    graph.erase(*node);
  }
}

}  // namespace

Pass remove_identities_pass() { return {.name = "remove-identities", .run = remove}; }

}  // namespace onward
