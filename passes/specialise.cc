#include "passes/specialise.h"

#include "passes/batch_constants.h"
#include "passes/bind_batch.h"
#include "passes/empty_share.h"
#include "passes/infer_graph.h"

namespace onward {
namespace {

// Tensors of the file that nothing reads, among them those that became attributes.
void remove_unused_tensors(Graph& graph) {
  for (Value* value : graph.value_list()) {
    const bool stored =
        value->role == Role::kConstant || value->role == Role::kParameter || value->role == Role::kState;
    if (stored && value->uses().empty() && !graph.is_output(*value)) graph.erase(*value);
  }
}

void make_concrete(Graph& graph, const PassContext& context, int64_t rows) {
  const int64_t exported = bind_batch(graph, context.options, rows);
  infer_graph(graph, {.exported = exported, .local = rows}, context.request.mode != ProgramMode::kEvaluate,
              context.registry);
  remove_unused_tensors(graph);
}

// The graph of other rows shows which constants depend on the batch, and all sizes of an empty share.
void specialise(Graph& graph, PassContext& context) {
  const int64_t rows = context.request.local_batch;
  const bool empty = rows == 0;
  if (!empty && !reads_batch_size(graph)) {
    make_concrete(graph, context, rows);
    return;
  }
  const int64_t own_rows = empty ? 2 : rows, other_rows = own_rows + 1;
  Graph other = graph.clone();
  make_concrete(graph, context, own_rows);
  make_concrete(other, context, other_rows);
  mark_batch_constants(graph, own_rows, other, other_rows);
  if (empty) extrapolate_to_no_rows(graph, other);
}

}  // namespace

Pass specialise_pass() { return {.name = "specialise", .run = specialise, .ensures = {"static"}}; }

}  // namespace onward
