#include "tools/idle_options.h"

#include <algorithm>

#include "graph/error.h"
#include "graph/print.h"
#include "passes/model_program.h"
#include "runtime/data/fit.h"
#include "runtime/data/normalise.h"
#include "tools/checkpoint_config.h"

namespace onward::cli {

namespace {

bool needs_no_fit(const Session& session, const Dataset& data) {
  try {
    fit_images(data.shape, session.sample, FitMode::kNone);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool same_constants(const std::string& now, const std::string& before, const Dataset& data) {
  const Normalisation a = parse_normalisation(now, data.name), b = parse_normalisation(before, data.name);
  return a.mean == b.mean && a.std_dev == b.std_dev;
}

// Whether the loss that is not asked for would be the same nodes.
bool same_loss(const Model& model, const Session& session) {
  const ProgramKey evaluation{ProgramMode::kEvaluate, 1};
  ProgramOptions options = session.program->options();
  options.loss = options.loss == LossKind::kAuto ? LossKind::kCrossEntropy : LossKind::kAuto;
  ModelProgram other(model, options);
  return print(other.program(evaluation)) == print(session.program->program(evaluation));
}

}  // namespace

std::set<std::string> idle_options(const nlohmann::json& config) {
  std::set<std::string> idle = {"init"};  // the checkpoint holds all parameters
  const auto unless = [&](const char* option, std::initializer_list<nlohmann::json> values,
                          std::initializer_list<const char*> deciding) {
    if (!config.contains(option)) return;
    if (std::find(values.begin(), values.end(), config.at(option)) == values.end())
      idle.insert(deciding.begin(), deciding.end());
  };
  unless("optimizer", {"momentum", "nesterov"}, {"momentum"});
  unless("optimizer", {"adam", "adamw"}, {"beta1", "beta2", "epsilon"});
  unless("schedule", {"cosine", "linear"}, {"min-lr"});
  unless("schedule", {"step"}, {"step-epochs", "step-factor"});
  unless("lr-scale", {"linear", "sqrt"}, {"base-batch-size"});
  if (config.value("weight-decay", nlohmann::json()) == 0) idle.insert("no-decay");
  return idle;
}

std::set<std::string> idle_options(const Options& options, const Checkpoint& checkpoint, const Model& model,
                                   const Session& session, const Dataset& data) {
  std::set<std::string> idle;
  const nlohmann::json before = config_of(checkpoint);
  const auto changed = [&](const char* name) {
    return before.contains(name) && before.at(name).is_string() && before.at(name) != options.text(name);
  };
  if (changed("fit") && needs_no_fit(session, data)) idle.insert("fit");
  if (changed("normalize") && same_constants(options.text("normalize"), before.at("normalize"), data))
    idle.insert("normalize");
  if (changed("loss") && same_loss(model, session)) idle.insert("loss");
  return idle;
}

}  // namespace onward::cli
