#include "passes/specialise.h"

#include "passes/bind_batch.h"
#include "passes/empty_share.h"
#include "passes/infer_graph.h"

namespace onward {
namespace {

// Tensors of the file that nothing reads, among them those that became attributes.
void remove_unused_tensors(Graph& graph) {
  for (Value* value : graph.value_list()) {
    const bool stored = value->role == Role::kConstant || value->role == Role::kParameter || value->role == Role::kState;
    if (stored && value->uses().empty() && !graph.is_output(*value)) graph.erase(*value);
  }
}

void make_concrete(Graph& graph, const PassContext& context, int64_t rows) {
  const int64_t exported = bind_batch(graph, context.options, rows);
  infer_graph(graph, {.exported = exported, .local = rows}, context.request.mode != ProgramMode::kEvaluate, context.registry);
  remove_unused_tensors(graph);
}

void specialise(Graph& graph, PassContext& context) {
  if (context.request.local_batch > 0) {
    make_concrete(graph, context, context.request.local_batch);
    return;
  }
  Graph three = graph.clone();
  make_concrete(graph, context, 2);
  make_concrete(three, context, 3);
  extrapolate_to_no_rows(graph, three);
}

}  // namespace

Pass specialise_pass() { return {.name = "specialise", .run = specialise, .ensures = {"static"}}; }

}  // namespace onward
