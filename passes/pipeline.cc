// The order of all passes, and the only place that knows it.
#include "passes/check_kernels.h"
#include "passes/dropout.h"
#include "passes/initialise.h"
#include "passes/inline_functions.h"
#include "passes/loss.h"
#include "passes/pass.h"
#include "passes/precision.h"
#include "passes/remove_identities.h"
#include "passes/roles.h"
#include "passes/specialise.h"
#include "passes/supported_ops.h"
#include "passes/training_form.h"
#include "passes/untie.h"

namespace onward {

std::vector<Pass> preparation_pipeline(const ProgramOptions& options) {
  std::vector<Pass> passes;
  const auto add = [&](bool wanted, Pass pass) {
    if (wanted) passes.push_back(std::move(pass));
  };
  add(true, inline_functions_pass());
  add(true, supported_ops_pass());
  add(true, untie_pass());
  add(true, roles_pass());
  add(true, remove_identities_pass());
  add(options.init == InitKind::kKaiming, initialise_pass());
  // Before shapes are inferred, so that results follow their operands, and once, so that programs share the tensors.
  add(options.precision == DType::kFloat64, precision_pass());
  return passes;
}

std::vector<Pass> pass_pipeline(const ProgramOptions& options, const ProgramRequest&) {
  std::vector<Pass> passes;
  const auto add = [&](bool wanted, Pass pass) {
    if (wanted) passes.push_back(std::move(pass));
  };
  const bool has_loss = options.loss != LossKind::kNone || !options.gradient_of.empty();
  add(true, dropout_pass());
  add(true, specialise_pass());
  add(true, training_form_pass());
  add(has_loss, loss_pass());
  add(true, check_kernels_pass());
  return passes;
}

}  // namespace onward
