#include "passes/model_program.h"

#include "graph/error.h"
#include "passes/fold_batch_norm.h"

namespace onward {

void ModelProgram::Lines::add(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (seen_.insert(line).second) list_.push_back(line);
  }
}

ModelProgram::ModelProgram(const Model& model, ProgramOptions options, const Registry& registry, RunnerHooks hooks)
    : options_(std::move(options)),
      registry_(registry),
      batch_norm_folded_(!model.metadata(kFoldedBatchNormKey).empty()) {
  try {
    prepared_ = model.graph();
    prepare(hooks, [&model](const OpId& op) { return model.function(op); });
  } catch (Error& error) {
    if (!model.path().empty()) error.note("in the file " + model.path());
    throw;
  }
}

ModelProgram::ModelProgram(Graph graph, ProgramOptions options, const Registry& registry, RunnerHooks hooks,
                           FunctionLookup functions)
    : options_(std::move(options)), registry_(registry), prepared_(std::move(graph)) {
  prepare(hooks, std::move(functions));
}

void ModelProgram::prepare(const RunnerHooks& hooks, FunctionLookup functions) {
  PassContext context{.options = options_, .request = {}, .registry = registry_, .functions = std::move(functions)};
  run_passes(prepared_, preparation_pipeline(options_), context, hooks);
  untied_ = std::move(context.untied);
  apart_ = std::move(context.apart);
  warnings_.add(context.warnings);
  facts_.add(context.facts);
}

Graph ModelProgram::program(const ProgramKey& key) {
  return program(ProgramRequest{.mode = key.mode, .local_batch = key.local_batch}, {});
}

Graph ModelProgram::program(const ProgramRequest& request, const RunnerHooks& hooks) {
  PassContext context{.options = options_,
                      .request = request,
                      .registry = registry_,
                      .functions = {},
                      .batch_norm_folded = batch_norm_folded_,
                      .apart = apart_};
  Graph graph = prepared_.clone();
  run_passes(graph, pass_pipeline(options_, request), context, hooks);
  const std::lock_guard lock(mutex_);
  loss_ = context.loss;
  loss_known_ = true;
  warnings_.add(context.warnings);
  facts_.add(context.facts);
  return graph;
}

namespace {

std::vector<std::string> names_with_role(const Graph& graph, Role role) {
  std::vector<std::string> names;
  for (const Value* value : graph.values_with_role(role)) {
    if (!value->uses().empty()) names.push_back(value->name());
  }
  return names;
}

}  // namespace

std::vector<std::string> ModelProgram::parameters() const { return names_with_role(prepared_, Role::kParameter); }
std::vector<std::string> ModelProgram::states() const { return names_with_role(prepared_, Role::kState); }

std::optional<LossInfo> ModelProgram::loss() {
  bool known = false;
  {
    const std::lock_guard lock(mutex_);
    known = loss_known_;
  }
  if (!known) program(ProgramKey{ProgramMode::kEvaluate, 1});
  const std::lock_guard lock(mutex_);
  return loss_;
}

std::vector<std::string> ModelProgram::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_.list();
}

std::vector<std::string> ModelProgram::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_.list();
}

}  // namespace onward
