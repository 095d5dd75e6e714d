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

std::vector<Value*> checked_values(const Graph& graph, const PassContext& context) {
  std::vector<Value*> values;
  for (const ParameterGradient& pair : graph.gradients()) values.push_back(pair.gradient);
  const bool skips = context.options.non_finite == NonFinite::kSkip;
  return skips && only_accumulates(context.request.mode) ? guarded_updates(graph) : values;
}

// Every update but an accumulator's is made only if the flag is set.
void guard_updates(Graph& graph, Value* flag, const Registry& registry) {
  const std::vector<StateUpdate> updates = graph.updates();
  graph.clear_updates();
  for (const StateUpdate& update : updates) {
    Value* value = update.updated;
    if (is_guarded(update)) {
      value = emit_node(graph, registry,
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

void run(Graph& graph, PassContext& context) {
  if (context.options.non_finite == NonFinite::kIgnore) return;
  const std::vector<Value*> checked = checked_values(graph, context);
  if (checked.empty()) return;
  Value* flag = emit_node(graph, context.registry, {kAllFinite, checked, {kFiniteOutput}, {}, kOrigin}).output(0);
  graph.add_output(*flag);
  if (context.options.non_finite == NonFinite::kSkip) guard_updates(graph, flag, context.registry);
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
