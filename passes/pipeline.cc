// The order of all passes, and the only place that knows it.
#include "passes/accumulation.h"
#include "passes/backward.h"
#include "passes/batch_norm_lowering.h"
#include "passes/batch_norm_mode.h"
#include "passes/check_kernels.h"
#include "passes/clip.h"
#include "passes/data_parallel.h"
#include "passes/dropout.h"
#include "passes/finite_guard.h"
#include "passes/fuse.h"
#include "passes/initialise.h"
#include "passes/inline_functions.h"
#include "passes/loss.h"
#include "passes/optimizer.h"
#include "passes/precision.h"
#include "passes/program_modes.h"
#include "passes/prune.h"
#include "passes/remove_identities.h"
#include "passes/reserved_names.h"
#include "passes/roles.h"
#include "passes/specialise.h"
#include "passes/supported_ops.h"
#include "passes/training_form.h"
#include "passes/training_warnings.h"
#include "passes/untie.h"
#include "passes/untie_states.h"

namespace onward {
namespace {

class PassList {
 public:
  PassList& add(Pass pass) {
    passes_.push_back(std::move(pass));
    return *this;
  }
  PassList& add_if(bool wanted, Pass (*pass)()) { return wanted ? add(pass()) : *this; }
  std::vector<Pass> take() { return std::move(passes_); }

 private:
  std::vector<Pass> passes_;
};

}  // namespace

std::vector<Pass> preparation_pipeline(const ProgramOptions& options) {
  PassList passes;
  passes.add(reserved_names_pass())
      .add(inline_functions_pass())
      .add(supported_ops_pass())
      .add(untie_states_pass())
      .add(untie_pass())
      .add(roles_pass())
      .add(remove_identities_pass())
      .add_if(options.init == InitKind::kKaiming, initialise_pass)
      // Before shapes are inferred, so that results follow their operands, and once, so that all programs share the
      // tensors.
      .add_if(options.precision == DType::kFloat64, precision_pass);
  return passes.take();
}

std::vector<Pass> pass_pipeline(const ProgramOptions& options, const ProgramRequest& request) {
  const bool evaluates = request.mode == ProgramMode::kEvaluate;
  const bool has_loss = options.loss != LossKind::kNone || !options.gradient_of.empty();
  const bool differentiates = has_loss && options.differentiate && !evaluates;
  const bool updates = differentiates && options.optimizer != OptimizerKind::kNone && updates_parameters(request.mode);
  PassList passes;
  passes.add_if(differentiates && options.optimizer != OptimizerKind::kNone, training_warnings_pass)
      .add(dropout_pass())
      .add(specialise_pass())
      .add(supported_types_pass())
      .add(training_form_pass())
      .add_if(has_loss, loss_pass)
      .add(prune_pass())
      .add_if(!evaluates, batch_norm_mode_pass)
      .add_if(differentiates, backward_pass)
      .add(prune_pass())
      .add(batch_norm_lowering_pass())
      .add_if(!evaluates, fuse_pass)
      .add(prune_pass())
      .add_if(differentiates, accumulation_pass)
      .add(data_parallel_pass())
      .add_if(differentiates, finite_guard_pass)
      .add_if(updates, clip_pass)
      .add_if(updates, optimizer_pass)
      .add(prune_pass())
      .add(check_kernels_pass());
  return passes.take();
}

}  // namespace onward
