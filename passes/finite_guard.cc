#include "passes/finite_guard.h"

#include "graph/scalars.h"
#include "passes/emit.h"
#include "passes/program_modes.h"

namespace onward {
namespace {

const OpId kAllFinite{kOnwardDomain, "AllFinite"};
constexpr const char* kOrigin = "guard against non-finite gradients";

// Accumulators take everything: the last micro-batch must see it.
bool is_guarded(const StateUpdate& update) { return update.state->distribution != Distribution::kPartial; }

std::vector<Value*> guarded_updates(const Graph& graph) {
  std::vector<Value*> values;
  for (const StateUpdate& update : graph.updates()) {
    if (is_guarded(update)) values.push_back(update.updated);
  }
  return values;
}

void run(Graph& graph, PassContext& context) {
  if (!context.options.skip_non_finite) return;
  std::vector<Value*> checked;
  for (const ParameterGradient& pair : graph.gradients()) checked.push_back(pair.gradient);
  if (only_accumulates(context.request.mode)) checked = guarded_updates(graph);
  if (checked.empty()) return;
  Value* flag = emit_node(graph, context.registry, {kAllFinite, checked, {kFiniteOutput}, {}, kOrigin}).output(0);
  graph.add_output(*flag);
  const std::vector<StateUpdate> updates = graph.updates();
  graph.clear_updates();
  for (const StateUpdate& update : updates) {
    Value* value = update.updated;
    if (is_guarded(update)) {
      value = emit_node(graph, context.registry,
                        {{kOnwardDomain, "Select"},
                         {flag, update.updated, update.state},
                         {update.state->name() + ".guarded"},
                         {},
                         kOrigin})
                  .output(0);
    }
    graph.add_update(*update.state, *value);
  }
}

}  // namespace

Pass finite_guard_pass() { return {.name = "finite-guard", .run = run, .requires_ = {"distributed"}}; }

Value* finite_flag(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->op() == kAllFinite) return node->output(0);
  }
  return nullptr;
}

}  // namespace onward
